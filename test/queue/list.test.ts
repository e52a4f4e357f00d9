import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import { counts } from '../../functions/queue/counts.ts';
import type { Db } from '../../functions/queue/db.ts';
import type { Status } from '../../functions/queue/job.ts';
import { list } from '../../functions/queue/list.ts';
import type { Filter } from '../../functions/queue/list-filter.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { deadJob, finishedJob, type JobFields, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, openPool, test } from '../support/fixtures.ts';
import { layPastDays } from '../support/partitions.ts';

const STATUSES = ['pending', 'processing', 'completed', 'cancelled', 'dead'] as const;

function makeJob(db: Db, status: Status, fields: JobFields): Promise<{ id: string }> {
  switch (status) {
    case 'pending':
      return pendingJob(db, fields);
    case 'processing':
      return processingJob(db, fields);
    case 'dead':
      return deadJob(db, fields);
    default:
      return finishedJob(db, { ...fields, status });
  }
}

/** The ids of all pages; `between` is called before each but the first. */
async function allPages(db: Db, filter: Filter, limit: number, between = async () => {}): Promise<string[]> {
  const seen: string[] = [];
  for (let from: string | undefined; ; await between()) {
    const page = await list(db, { ...filter, limit, from });
    expect(page.jobs.length).toBeLessThanOrEqual(limit);
    seen.push(...page.jobs.map(({ id }) => id));
    if (page.next === undefined) return seen;
    from = page.next;
  }
}

describe('list and counts', () => {
  test('take every combination of filters, newest first; each job once', async ({ db }) => {
    const made: { id: string; kind: string; subject: string | undefined; status: Status }[] = [];
    for (let n = 0; n < 75; n++) {
      const status = STATUSES[n % 5] as Status;
      const kind = ['a', 'b', 'b', 'c'][n % 4] as string;
      const subject = ['x', 'y', undefined][n % 3];
      const fields = { kind, createdSecondsAgo: 7500 - 100 * n, ...(subject !== undefined && { subject }) };
      made.unshift({ id: (await makeJob(db, status, fields)).id, kind, subject, status });
    }
    const early = new Date(Date.now() - 5_050_000);
    const late = new Date(Date.now() - 2_050_000);
    const times = [{}, { createdAfter: early }, { createdBefore: late }, { createdAfter: early, createdBefore: late }];
    for (const status of [undefined, ...STATUSES]) {
      for (const kind of [undefined, 'a', 'b', 'nobody']) {
        for (const subject of [undefined, 'x', 'nothing']) {
          for (const time of times) {
            const filter: Filter = { status, kind, subject, ...time };
            const wanted = made.filter(
              (job, at) =>
                (status ?? job.status) === job.status &&
                (kind ?? job.kind) === job.kind &&
                (subject ?? job.subject) === job.subject &&
                (time.createdAfter === undefined || at < 50) &&
                (time.createdBefore === undefined || at >= 20),
            );
            const ids = wanted.map(({ id }) => id);
            expect(await allPages(db, filter, 4), JSON.stringify(filter)).toEqual(ids);
            const asked = status === undefined ? STATUSES : [status];
            const numbers = asked.map((one) => [one, wanted.filter((job) => job.status === one).length]);
            expect(await counts(db, filter), JSON.stringify(filter)).toEqual(Object.fromEntries(numbers));
          }
        }
      }
    }
  });

  test('find all that is about a subject, whether it has few jobs or many, over days and kinds', async ({ db }) => {
    await layPastDays(db, 6);
    await spread(db, 400);
    const times: Filter[] = [
      {},
      { createdAfter: daysAgo(4.5), createdBefore: daysAgo(1.5) },
      { createdAfter: daysAgo(0.02) },
      { createdBefore: daysAgo(5.5) },
    ];
    for (const subject of ['every 2nd', 'every 9th', 'every 50th', 'nothing']) {
      for (const status of [undefined, ...STATUSES]) {
        for (const time of times) {
          const filter: Filter = { status, subject, ...time };
          const { rows } = await db.query<{ id: string; status: Status }>(
            `SELECT id, status
             FROM millrace.jobs
             WHERE subject = $1 AND status = coalesce($2, status)
               AND ($3::timestamptz IS NULL OR id >= millrace.uuidv7_floor($3))
               AND ($4::timestamptz IS NULL OR id < millrace.uuidv7_floor($4))
             ORDER BY id DESC`,
            [subject, status, time.createdAfter, time.createdBefore],
          );
          const what = JSON.stringify(filter);
          expect(await allPages(db, filter, 5), what).toEqual(rows.map(({ id }) => id));
          const numbers = (status === undefined ? STATUSES : [status]).map((one) => [
            one,
            rows.filter((row) => row.status === one).length,
          ]);
          expect(await counts(db, filter), what).toEqual(Object.fromEntries(numbers));
        }
      }
    }
  });

  test('take a kind or a subject as it is, and not what begins like it or sorts like it', async ({ db }) => {
    for (const name of ['a', 'a.b', 'A', 'b']) await pendingJob(db, { kind: name, subject: name });
    for (const filter of [{ kind: 'a' }, { subject: 'a' }]) {
      expect((await list(db, { ...filter, limit: 10 })).jobs.map(({ kind }) => kind)).toEqual(['a']);
      expect((await counts(db, filter)).pending).toBe(1);
    }
    expect((await list(db, { status: 'pending', limit: 10 })).jobs).toHaveLength(4);
  });

  test('compare times with those of the ids: from the millisecond itself on, up to it without it', async ({ db }) => {
    // The smallest id of a millisecond.
    const { id } = await pendingJob(db, { id: '01a228d1-5013-7000-8000-000000000000' });
    const at = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
    const found = async (filter: Filter) => (await list(db, { ...filter, limit: 10 })).jobs.length;
    expect(await found({ createdAfter: new Date(at) })).toBe(1);
    expect(await found({ createdAfter: new Date(at + 1) })).toBe(0);
    expect(await found({ createdBefore: new Date(at) })).toBe(0);
    expect(await found({ createdBefore: new Date(at + 1) })).toBe(1);
    expect(await found({ createdAfter: new Date(at), createdBefore: new Date(at) })).toBe(0);
    expect(await found({ createdAfter: new Date(-1), createdBefore: new Date(8.64e15) })).toBe(1);
    await expect(found({ createdAfter: new Date(Number.NaN) })).rejects.toThrow('valid times');
  });

  test('a count goes up to 1,000, and its reading with it', async ({ db }) => {
    await db.query(`SELECT millrace.enqueue('k' || i % 3, '{}', subject => 's') FROM generate_series(1, 1005) i`);
    expect(await counts(db)).toEqual({ pending: 1000, processing: 0, completed: 0, cancelled: 0, dead: 0 });
    expect(await counts(db, { status: 'pending', subject: 's' })).toEqual({ pending: 1000 });
    expect(await counts(db, { status: 'pending', subject: 's', kind: 'k1' })).toEqual({ pending: 335 });
  });
});

describe('pages', () => {
  test.for([1, 2, 3, 4, 5, 6, 7, 8])(
    'neither miss nor repeat a job that moves between them (seed %i)',
    async (seed, { db }) => {
      const filter = [{}, { kind: 'a' }, { subject: 's' }, { kind: 'a', subject: 's' }][seed % 4] as Filter;
      const random = randomOf(seed);
      const made: string[] = [];
      for (let n = 0; n < 24; n++) {
        const fields = { kind: 'a', subject: 's', createdSecondsAgo: 100 - n };
        made.unshift((await makeJob(db, STATUSES[random(5)] as Status, fields)).id);
      }
      const ways: string[] = [];
      const seen = await allPages(db, filter, 2 + random(3), async () => {
        for (let n = 0; n < 8; n++) ways.push(await move(db, made[random(made.length)] as string, random(10)));
        // New ones, at the front and in the midst: a transaction may commit long after its ids were made.
        await pendingJob(db, { kind: 'a', subject: 's', createdSecondsAgo: random(2) * 85 });
      });
      expect(seen.filter((id) => made.includes(id))).toEqual(made);
      expect(new Set(seen).size).toBe(seen.length);
      expect(ways).toContain('dead → pending');
    },
  );

  test('of one status hold every job that has it all the while', async ({ db }) => {
    const made: { id: string; status: Status }[] = [];
    for (let n = 0; n < 50; n++) {
      const status = STATUSES[n % 5] as Status;
      made.unshift({ id: (await makeJob(db, status, { createdSecondsAgo: 100 - n })).id, status });
    }
    for (const status of STATUSES) {
      const staying = made.filter((job, at) => job.status === status && at % 3 !== 0).map(({ id }) => id);
      const moving = made.filter(({ id }) => !staying.includes(id)).map(({ id }) => id);
      let next = 0;
      const seen = await allPages(db, { status }, 2, async () => {
        for (let n = 0; n < 5; n++) await move(db, moving[next % moving.length] as string, next++);
      });
      expect(seen.filter((id) => staying.includes(id))).toEqual(staying);
      expect(new Set(seen).size).toBe(seen.length);
      await db.query('TRUNCATE millrace.live_jobs, millrace.finished_jobs, millrace.dead_jobs, millrace.payloads');
      for (const [at, job] of made.entries()) await makeJob(db, job.status, { id: job.id, createdSecondsAgo: at });
    }
  });

  test('see a job once while it moves from one table to another and back', async ({ db, databaseUrl }) => {
    const jobs = await Promise.all(Array.from({ length: 60 }, () => processingJob(db, { subject: 's' })));
    const ids = jobs.map(({ id }) => id).sort();
    const mover = openPool(databaseUrl, 1);
    let over = false;
    const moving = (async () => {
      for (let n = 0; !over; n++) await move(mover, ids[n % ids.length] as string, n);
    })();
    for (let look = 0; look < 40; look++) {
      const filter = [{}, { kind: 'test.kind' }, { subject: 's' }][look % 3] as Filter;
      const page = await list(db, { ...filter, limit: 100 });
      expect(page.jobs.map(({ id }) => id).sort()).toEqual(ids);
      const numbers = await counts(db, filter);
      expect(Object.values(numbers).reduce((sum, n) => sum + n)).toBe(60);
    }
    over = true;
    await moving;
    await mover.end();
  });

  test('begin behind a job that is gone since', async ({ db }) => {
    const ids = await Promise.all([3, 2, 1].map(async (age) => (await pendingJob(db, { createdSecondsAgo: age })).id));
    const { next } = await list(db, { limit: 1 });
    expect(next).toBe(ids[1]);
    await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [next]);
    const rest = await list(db, { limit: 10, from: next });
    expect(rest.jobs.map(({ id }) => id)).toEqual([ids[0]]);
  });

  test('show keys, request and progress as a single job does, and of the errors the last one without its stack', async ({
    db,
  }) => {
    await deadJob(db, {
      createdSecondsAgo: 2,
      errors: [
        { attempt: 1, name: 'A', message: 'first' },
        { attempt: 2, name: 'B', message: 'last', stack: 'at …' },
      ],
    });
    const { id } = await processingJob(db, { uniqueKey: 'u', idempotencyKey: 'i', requestId: 'r' });
    await db.query('INSERT INTO millrace.job_progress (id, fraction, note) VALUES ($1, 0.1, $2)', [id, 'begun']);
    const { jobs } = await list(db, { limit: 2 });
    expect(jobs.map((job) => job.last_error)).toEqual([null, { attempt: 2, name: 'B', message: 'last' }]);
    expect(jobs[0]).toMatchObject({
      unique_key: 'u',
      idempotency_key: 'i',
      request_id: 'r',
      progress: { fraction: 0.1, note: 'begun', updated_at: expect.stringMatching(/Z$/) },
    });
    expect(jobs[1]).toMatchObject({ unique_key: null, idempotency_key: null, request_id: null, progress: null });
  });
});

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** `many` live jobs of the last six days, and as many finished and dead ones: of seven kinds, every ninth processing or cancelled. */
async function spread(db: Db, many: number): Promise<void> {
  const made = `
    SELECT overlay(millrace.uuidv7()::text
                   PLACING substr(millrace.uuidv7_floor(now() - make_interval(secs => ($1 - i) * 518400.0 / $1))::text, 1, 13)
                   FROM 1)::uuid AS id,
           'k' || i % 7 AS kind, i % 9 = 4 AS other,
           CASE WHEN i % 50 = 0 THEN 'every 50th' WHEN i % 9 = 0 THEN 'every 9th' WHEN i % 2 = 0 THEN 'every 2nd' END AS subject
    FROM generate_series(1, $1::int) i`;
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, subject, status, attempts, locked_by, locked_until)
     SELECT id, kind, subject, 'processing', 1, id, now() + interval '1 minute' FROM (${made}) made WHERE other
     UNION ALL
     SELECT id, kind, subject, 'pending', 0, NULL, NULL FROM (${made}) made WHERE NOT other`,
    [many],
  );
  await db.query(
    `INSERT INTO millrace.finished_jobs
       (id, kind, subject, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
     SELECT id, kind, subject, 'default', CASE WHEN other THEN 'cancelled' ELSE 'completed' END, 0, 1, 5, 0, now(), now(), 0
     FROM (${made}) made`,
    [many],
  );
  await db.query(
    `INSERT INTO millrace.dead_jobs
       (id, kind, subject, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
     SELECT id, kind, subject, 'default', 0, 5, 5, 0, now(), now(), 0, '{}' FROM (${made}) made`,
    [many],
  );
}

/** Takes a job one step on its way; where there are two, `choice` says which. An end stays. Resolves the way. */
async function move(db: Db, id: string, choice: number): Promise<string> {
  const { rows } = await db.query<{ status: Status; token: string }>(
    'SELECT status, locked_by AS token FROM millrace.jobs WHERE id = $1',
    [id],
  );
  const [{ status, token }] = rows as [{ status: Status; token: string }];
  switch (status) {
    case 'pending': {
      if (choice % 10 === 0) {
        await cancel(db, id);
        return 'pending → cancelled';
      }
      await db.query(
        `UPDATE millrace.live_jobs
         SET status = 'processing', attempts = 1, locked_by = $2, locked_until = now() + interval '1 minute'
         WHERE id = $1`,
        [id, randomUUID()],
      );
      return 'pending → processing';
    }
    case 'processing':
      if (choice % 4 === 0) {
        await complete(db, [{ id, token, result: null }]);
        return 'processing → completed';
      }
      await bury(db, [{ id, token, error: { attempt: 1, name: 'Error', message: 'boom' } }]);
      return 'processing → dead';
    case 'dead':
      await redrive(db, id);
      return 'dead → pending';
    default:
      return 'none';
  }
}

/** Whole numbers from 0 up to `below`, the same for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}
