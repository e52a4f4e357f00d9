import * as z from 'zod';
import { bury } from '../../functions/queue/bury.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { deadJob } from '../../functions/queue/dead-job.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import type { AttemptError, ClaimedJob } from '../../functions/queue/job.ts';
import { type OnDeadJobs, onDeadJobs } from '../../functions/queue/on-dead.ts';
import { parsePayload } from '../../functions/queue/payload.ts';
import { reap } from '../../functions/queue/reap.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { settle } from '../../functions/queue/settle.ts';
import { counterOf, expireLease, liveRowOf, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const payload = z.looseObject({});
const contracts = {
  'test.kind': defineJob({ payload, onDead: 'told.kind', aliases: ['old.kind'] }),
  'told.kind': defineJob({ payload: deadJob(payload), queue: 'deaths', maxAttempts: 7 }),
  'quiet.kind': defineJob({ payload }),
};
const jobs = onDeadJobs(contracts);
const error: AttemptError = { attempt: 1, name: 'Error', message: 'boom' };
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

interface Told {
  readonly id: string;
  readonly payload: Record<string, unknown>;
}

/** The jobs that were put in for the dead, in that order. */
async function told(db: Db): Promise<Told[]> {
  const { rows } = await db.query<Told>(
    `SELECT * FROM millrace.jobs WHERE kind = 'told.kind' ORDER BY payload ->> 'id', id`,
  );
  return rows;
}

/** `refused` gathers what the database would not take. */
function telling(over: OnDeadJobs = jobs) {
  const refused: [id: string, kind: string, reason: string][] = [];
  return {
    refused,
    onDead: {
      jobs: over,
      refused: ({ id, kind }: { id: string; kind: string }, reason: string) => refused.push([id, kind, reason]),
    },
  };
}

const { onDead } = telling();

/** Each way in which a job dies. */
const deaths = [
  ['buried', async (db: Db, id: string, token: string) => bury(db, [{ id, token, error }], { onDead })],
  [
    'reaped',
    async (db: Db, id: string) => {
      await expireLease(db, id);
      await reap(db, { limit: 10, contracts });
    },
  ],
] as const;

describe.each(deaths)('a job that is %s', (way, die) => {
  test('has one put in that tells of it, with where it came from', async ({ db }) => {
    const fields = { kind: 'test.kind', queue: 'lane', subject: 'order:7', payload: { order: 7 }, priority: 3 };
    const job = await processingJob(db, { ...fields, attempts: 5, requestId: 'r1', traceparent, errors: [error] });
    await die(db, job.id, job.token);
    const dead = await rowOf(db, job.id);
    const [one, ...more] = await told(db);
    expect(more).toEqual([]);
    expect(one).toMatchObject({
      status: 'pending',
      queue: 'deaths',
      priority: 0,
      attempts: 0,
      max_attempts: 7,
      subject: 'order:7',
      request_id: 'r1',
      traceparent,
      unique_key: null,
    });
    const microseconds = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(one?.payload).toEqual({
      id: job.id,
      kind: 'test.kind',
      queue: 'lane',
      subject: 'order:7',
      attempts: 5,
      created_at: microseconds,
      started_at: microseconds,
      error: dead?.errors.at(-1),
      payload: { order: 7 },
      payload_left_out: false,
    });
    expect(one?.payload).toMatchObject({ error: { name: way === 'buried' ? 'Error' : 'LeaseExpired' } });
    expect(contracts['told.kind'].payload.parse(one?.payload)).toMatchObject({ payload: { order: 7 } });
    expect(() => parsePayload(contracts['told.kind'].payload, { ...one?.payload, attempts: 'five' })).toThrow(
      /: \/attempts: /,
    );
    // As a claim reads it: what it carries is bounded by this number.
    const { rows } = await db.query('SELECT octet_length(payload::text) AS n FROM millrace.payloads WHERE id = $1', [
      one?.id,
    ]);
    expect(await liveRowOf(db, one?.id as string)).toMatchObject({ payload_bytes: rows[0]?.n });
    expect(await counterOf(db, 'told.kind', 'enqueued')).toBe(1);
  });

  test('under an alias of its kind has one, too; of a kind without onDead it has none', async ({ db }) => {
    const old = await processingJob(db, { kind: 'old.kind', attempts: 5 });
    const quiet = await processingJob(db, { kind: 'quiet.kind', attempts: 5 });
    await die(db, old.id, old.token);
    await die(db, quiet.id, quiet.token);
    expect((await told(db)).map(({ payload: about }) => about.kind)).toEqual(['old.kind']);
    expect(await statusOf(db, quiet.id)).toBe('dead');
  });

  test('leaves its payload out where the whole would not fit', async ({ db }) => {
    for (const bytes of [4 * 1024 * 1024 - 65_536 - 1000, 4 * 1024 * 1024 - 65_536]) {
      const { id } = await insertJob(db, { kind: 'test.kind', payload: { text: 'x'.repeat(bytes - 12) } });
      const token = await started(db, id);
      await die(db, id, token);
    }
    const found = (await told(db)).map(({ payload: about }) => contracts['told.kind'].payload.parse(about));
    expect(found.map((one) => one.payload_left_out)).toEqual([false, true]);
    expect(found[1]?.payload).toBeNull();
  });

  test('is dead all the same if that cannot be put in, and so are those beside it, which have theirs', async ({
    db,
  }) => {
    await db.query(
      `CREATE OR REPLACE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN
         IF NEW.subject = 'refused' THEN RAISE 'not on a Sunday'; END IF;
         IF NEW.subject = 'closed' THEN RAISE '%', repeat('closed ', 1000) USING ERRCODE = '55000'; END IF;
         ASSERT NEW.subject <> 'wrong', 'it is wrong';
         RETURN NEW;
       END $$;
       CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON millrace.live_jobs FOR EACH ROW WHEN (NEW.kind = 'told.kind')
       EXECUTE FUNCTION public.refuse()`,
    );
    const dying = [];
    for (const subject of ['fine', 'refused', 'closed', 'wrong', 'too'])
      dying.push(await processingJob(db, { subject, attempts: 5 }));
    const { refused, onDead: watched } = telling();
    if (way === 'buried')
      await bury(
        db,
        dying.map((job) => ({ ...job, error })),
        { onDead: watched },
      );
    else {
      for (const { id } of dying) await expireLease(db, id);
      await reap(db, { limit: 10, contracts, onDeadRefused: watched.refused });
    }
    for (const { id } of dying) expect(await statusOf(db, id)).toBe('dead');
    expect(refused.sort()).toEqual([
      [dying[1]?.id, 'test.kind', 'not on a Sunday (SQLSTATE P0001)'],
      [dying[2]?.id, 'test.kind', `${'closed '.repeat(1000).slice(0, 500)} (SQLSTATE 55000)`],
      [dying[3]?.id, 'test.kind', 'it is wrong (SQLSTATE P0004)'],
    ]);
    expect((await told(db)).map(({ payload: about }) => about.subject).sort()).toEqual(['fine', 'too']);
    expect(await counterOf(db, 'told.kind', 'enqueued')).toBe(2);
    await db.query('DROP TRIGGER refuse ON millrace.live_jobs');
  });

  test('waits with its death for a lock that stands in the way of the other', async ({ db }) => {
    const job = await processingJob(db, { attempts: 5 });
    await db.query(
      `CREATE OR REPLACE FUNCTION public.busy() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'held' USING ERRCODE = '55P03'; END $$;
       CREATE OR REPLACE TRIGGER busy BEFORE INSERT ON millrace.live_jobs FOR EACH ROW EXECUTE FUNCTION public.busy()`,
    );
    await Promise.resolve(die(db, job.id, job.token)).catch(() => {});
    expect(await statusOf(db, job.id)).toBe('processing');
    await db.query('DROP TRIGGER busy ON millrace.live_jobs');
    await die(db, job.id, job.token);
    expect([await statusOf(db, job.id), (await told(db)).length]).toEqual(['dead', 1]);
  });
});

test('a claim that was lost, and one that is settled again, put in nothing', async ({ db }) => {
  const job = await processingJob(db, { attempts: 5 });
  expect(await bury(db, [{ id: job.id, token: crypto.randomUUID(), error }], { onDead })).toEqual([]);
  expect(await told(db)).toEqual([]);
  for (let n = 0; n < 2; n++) expect(await bury(db, [{ ...job, error }], { onDead })).toEqual([job.id]);
  expect(await told(db)).toHaveLength(1);
});

test('each death has its own: a job that dies again after a redrive is told of again', async ({ db }) => {
  const job = await processingJob(db, { attempts: 5 });
  await bury(db, [{ ...job, error }], { onDead });
  await redrive(db, job.id);
  const token = await started(db, job.id);
  await bury(db, [{ id: job.id, token, error: { ...error, message: 'again' } }], { onDead });
  const messages = (await told(db)).map(({ payload: about }) => (about.error as AttemptError).message);
  expect(messages.sort()).toEqual(['again', 'boom']);
});

test('five hundred deaths are one statement', async ({ db }) => {
  const { rows } = await db.query<{ id: string; token: string }>(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id FROM generate_series(1, 500)),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{"n": 1}' FROM job)
     INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until)
     SELECT id, 'test.kind', 'processing', 1, gen_random_uuid(), now() FROM job
     RETURNING id, locked_by AS token`,
  );
  let statements = 0;
  const counting: Db = {
    query: (text, values) => {
      statements++;
      return db.query(text, values);
    },
  };
  expect(
    await bury(
      counting,
      rows.map((claim) => ({ ...claim, error })),
      { onDead },
    ),
  ).toHaveLength(500);
  expect(statements).toBe(1);
  const ids = (await told(db)).map(({ payload: about }) => about.id);
  expect(ids.sort()).toEqual(rows.map(({ id }) => id).sort());
  expect(await counterOf(db, 'told.kind', 'enqueued')).toBe(500);
});

test('a reap takes no more dying jobs than one statement can copy, and those that come back count nothing', async ({
  db,
}) => {
  const text = 'x'.repeat(3 * 1024 * 1024);
  const heavy: string[] = [];
  for (let n = 0; n < 7; n++) {
    const { id } = await insertJob(db, { kind: 'quiet.kind', payload: { text } });
    await started(db, id);
    if (n === 0) await db.query('UPDATE millrace.live_jobs SET attempts = 1 WHERE id = $1', [id]);
    await expireLease(db, id);
    heavy.push(id);
  }
  const taken = async () => (await reap(db, { limit: 10, contracts })).map(({ id }) => id);
  // 3 MiB, and five times as much is within 16 MiB.
  expect([await taken(), await taken(), await taken()]).toEqual([heavy.slice(0, 6), heavy.slice(6), []]);
});

test('a name that the database refuses keeps no job from being buried', async ({ db }) => {
  const job = await processingJob(db);
  const misnamed = telling(new Map([['test.kind', { kind: 'no kind!', queue: 'default', maxAttempts: 5 }]]));
  expect(await bury(db, [{ ...job, error }], { onDead: misnamed.onDead })).toEqual([job.id]);
  expect(misnamed.refused).toEqual([[job.id, 'test.kind', expect.stringContaining('live_jobs_kind_check')]]);
});

test('a result that cannot be stored buries the job, and that is told of as well', async ({ db }) => {
  const job = (await processingJob(db)) as unknown as ClaimedJob;
  const ended = { job, settlement: { kind: 'complete', result: 'a\0b' }, bytes: 1, durationMs: 1 } as const;
  const { settled } = await settle(db, [ended], onDead);
  expect(settled.map(({ verdict }) => verdict)).toEqual(['buried']);
  expect((await told(db)).map(({ payload: about }) => (about.error as AttemptError).name)).toEqual(['UnstorableError']);
});

test('those that would die can be left for later, the others are taken back', async ({ db }) => {
  const gone = { leaseExpiredSecondsAgo: 1 };
  const dying = await processingJob(db, { ...gone, attempts: 5 });
  const asked = await processingJob(db, { ...gone, attempts: 5, cancelRequested: true });
  const other = await processingJob(db, gone);
  await reap(db, { limit: 10, spareDying: true });
  const statuses = async () => Promise.all([dying, asked, other].map(({ id }) => statusOf(db, id)));
  expect(await statuses()).toEqual(['processing', 'cancelled', 'pending']);
  await reap(db, { limit: 10, contracts });
  expect(await statuses()).toEqual(['dead', 'cancelled', 'pending']);
  expect(await told(db)).toHaveLength(1);
});

test('contracts that name no kind as onDead, or one with an onDead of its own, are refused', () => {
  const dead = defineJob({ payload, onDead: 'nowhere' });
  expect(() => onDeadJobs({ dead })).toThrow('onDead of "dead" is "nowhere", which is no kind');
  const loop = defineJob({ payload, onDead: 'loop' });
  expect(() => onDeadJobs({ loop })).toThrow('deaths could go on for ever');
});

async function started(db: Db, id: string): Promise<string> {
  const token = crypto.randomUUID();
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = max_attempts, locked_by = $2, locked_until = now() + interval '1 minute',
         started_at = now()
     WHERE id = $1`,
    [id, token],
  );
  return token;
}
