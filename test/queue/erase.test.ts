import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import type { Db } from '../../functions/queue/db.ts';
import { erase } from '../../functions/queue/erase.ts';
import { reap } from '../../functions/queue/reap.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { retry } from '../../functions/queue/retry.ts';
import { upkeep } from '../../functions/queue/upkeep.ts';
import { deadJob, expireLease, finishedJob, pendingJob, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { homeOf, layPastDays } from '../support/partitions.ts';
import { claimSome } from './claiming.ts';
import { logged, operator } from './operator-log.ts';
import { inTurn, waitsForLock, withSessions } from './sessions.ts';

const SECRET = 'Rumpelstilzchen';
const DAY = 86_400;
const error = { attempt: 1, name: 'Error', message: `cannot reach ${SECRET}`, stack: SECRET };

/** A job whose payload, errors, progress and key all tell the secret. */
async function put(db: Db, fields: { createdSecondsAgo?: number; uniqueKey?: string } = {}): Promise<string> {
  const { id } = await pendingJob(db, { payload: { who: SECRET }, subject: SECRET, ...fields });
  await db.query(
    `INSERT INTO millrace.idempotency_keys (kind, key, fingerprint, job_id)
     VALUES ('test.kind', $1::text, sha256(convert_to($2, 'UTF8')), $1::text::uuid)`,
    [id, SECRET],
  );
  return id;
}

async function claimed(db: Db, id: string): Promise<{ id: string; token: string }> {
  const { jobs, token } = await claimSome(db);
  expect(jobs.map((job) => job.id)).toEqual([id]);
  await db.query(
    `INSERT INTO millrace.job_progress (id, fraction, note) VALUES ($1, 0.5, $2)
     ON CONFLICT (id) DO UPDATE SET fraction = 0.6`,
    [id, SECRET],
  );
  return { id, token };
}

const failed = async (db: Db, id: string) => retry(db, [{ ...(await claimed(db, id)), error, delaySeconds: 0 }]);
const buried = async (db: Db, id: string) => bury(db, [{ ...(await claimed(db, id)), error }]);
const completed = async (db: Db, id: string) => complete(db, [{ ...(await claimed(db, id)), result: { is: SECRET } }]);

/** Tables, partitions and all, with a row that tells the secret. */
async function tellers(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'millrace'::regnamespace AND relkind = 'r'`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rowCount } = await db.query(`SELECT FROM ${name} t WHERE t::text LIKE '%' || $1 || '%' LIMIT 1`, [SECRET]);
    if (rowCount) found.push(name);
  }
  return found;
}

describe('nothing of payload, result and errors is left of', () => {
  const lives: readonly [string, (db: Db, id: string) => Promise<unknown>][] = [
    ['a completed job', completed],
    ['one that failed before', async (db, id) => [await failed(db, id), await failed(db, id), await completed(db, id)]],
    ['a cancelled one', async (db, id) => [await failed(db, id), await cancel(db, id)]],
    ['a dead one', buried],
    [
      'one that the reaper buried',
      async (db, id) => {
        await failed(db, id);
        await claimed(db, id);
        await db.query('UPDATE millrace.live_jobs SET max_attempts = attempts');
        await expireLease(db, id);
        expect(await reap(db, { limit: 1 })).toMatchObject([{ status: 'dead' }]);
      },
    ],
    [
      'one that was redriven and completed',
      async (db, id) => [await buried(db, id), await redrive(db, id), await completed(db, id)],
    ],
    [
      'one that was redriven and is dead again',
      async (db, id) => [await buried(db, id), await redrive(db, id), await buried(db, id)],
    ],
    [
      'one that gave way to a twin',
      async (db, id) => {
        const claim = await claimed(db, id);
        await db.query(`UPDATE millrace.live_jobs SET unique_key = 'k'`);
        await pendingJob(db, { uniqueKey: 'k' });
        expect(await retry(db, [{ ...claim, error, delaySeconds: 0 }])).toMatchObject([{ status: 'cancelled' }]);
      },
    ],
    [
      'a dead one whose payload is there twice no more',
      async (db, id) => [await buried(db, id), await db.query('DELETE FROM millrace.payloads WHERE id = $1', [id])],
    ],
  ];

  test.for(lives)('%s', async ([, live], { db }) => {
    const id = await put(db);
    await live(db, id);
    const before = await tellers(db);
    expect(before.length).toBeGreaterThan(1);
    expect(before).toContain('millrace.job_progress');
    expect(await erase(db, id)).toBe('erased');
    expect(await tellers(db)).toEqual([]);
    expect(await rowOf(db, id)).toBeUndefined();
    const { rows } = await db.query('SELECT fingerprint FROM millrace.idempotency_keys');
    expect(rows).toEqual([{ fingerprint: null }]);
  });

  test('jobs of days that were merged into the oldest partition', async ({ own: { pool } }) => {
    await layPastDays(pool, 12);
    const at = { createdSecondsAgo: 10 * DAY };
    const [done, dead] = [await put(pool, at), await put(pool, at)];
    const { jobs, token } = await claimSome(pool);
    expect(jobs).toHaveLength(2);
    await complete(pool, [{ id: done, token, result: SECRET }]);
    await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    await bury(pool, [{ id: dead, token, error }]);
    expect(await homeOf(pool, 'finished_jobs', done)).toBe('oldest');
    expect(await homeOf(pool, 'payloads', dead)).toBe('oldest');
    for (const id of [done, dead]) expect(await erase(pool, id)).toBe('erased');
    expect(await tellers(pool)).toEqual([]);
  });
});

test('other jobs keep all that is theirs', async ({ db }) => {
  const [erased, kept] = [await deadJob(db, { payload: 1 }), await deadJob(db, { payload: 2 })];
  const before = await rowOf(db, kept.id);
  await erase(db, erased.id);
  expect(await rowOf(db, kept.id)).toEqual(before);
});

test('a live job is in the wrong state, and nothing of it is touched; one that never was is not there', async ({
  db,
}) => {
  for (const job of [await pendingJob(db), await processingJob(db)]) {
    const before = await rowOf(db, job.id);
    expect(await erase(db, job.id)).toEqual({ wrongState: before?.status });
    expect(await rowOf(db, job.id)).toEqual(before);
  }
  expect(await erase(db, randomUUID())).toBeUndefined();
  expect(await logged(db)).toEqual([]);
});

test('the log says who erased which job, and nothing of what was in it', async ({ db }) => {
  const [job, by] = [await finishedJob(db, { result: SECRET }), operator()];
  await erase(db, job.id, by);
  expect(await logged(db)).toEqual([
    { actor: 'ada', action: 'erase', target: { id: job.id }, count: 1, requestId: by.requestId },
  ]);
});

test('a resend is answered as the first time; another request is told that there is no such job', async ({ db }) => {
  const [job, by] = [await deadJob(db), operator()];
  expect([await erase(db, job.id, by), await erase(db, job.id, by)]).toEqual(['erased', 'erased']);
  expect(await erase(db, job.id, operator())).toBeUndefined();
  expect(await logged(db)).toHaveLength(1);
});

test('a settle that is repeated after the erasure brings nothing back', async ({ db }) => {
  for (const [settle, made] of [
    [(job: { id: string; token: string }) => complete(db, [{ ...job, result: SECRET }]), await processingJob(db)],
    [(job: { id: string; token: string }) => bury(db, [{ ...job, error }]), await processingJob(db)],
    [
      (job: { id: string; token: string }) => retry(db, [{ ...job, error, delaySeconds: 0 }]),
      await processingJob(db, { cancelRequested: true }),
    ],
  ] as const) {
    expect(await settle(made)).toHaveLength(1);
    await erase(db, made.id);
    expect(await settle(made)).toEqual([]);
    expect([await rowOf(db, made.id), await tellers(db)]).toEqual([undefined, []]);
  }
});

describe('against others at the same time', () => {
  test('a redrive that came first keeps the job, its payload and its keys', async ({ db, databaseUrl }) => {
    const id = await put(db);
    await buried(db, id);
    const answers = await inTurn(
      databaseUrl,
      (session) => redrive(session, id),
      (session) => erase(session, id),
    );
    expect(answers).toEqual(['redriven', { wrongState: 'pending' }]);
    expect((await rowOf(db, id))?.payload).toEqual({ who: SECRET });
    const { rows } = await db.query('SELECT fingerprint IS NULL AS gone FROM millrace.idempotency_keys');
    expect(rows).toEqual([{ gone: false }]);
  });

  test('a redrive that comes second finds nothing', async ({ db, databaseUrl }) => {
    const id = await put(db);
    await buried(db, id);
    const answers = await inTurn(
      databaseUrl,
      (session) => erase(session, id),
      (session) => redrive(session, id),
    );
    expect(answers).toEqual(['erased', undefined]);
    expect(await tellers(db)).toEqual([]);
  });

  test('of two that erase one counts; a resend that overtakes its first waits for it', async ({ db, databaseUrl }) => {
    for (const make of [deadJob, finishedJob]) {
      const [one, other] = [await make(db), await make(db)];
      const twice = (id: string) => (session: Db) => erase(session, id);
      expect(await inTurn(databaseUrl, twice(one.id), twice(one.id))).toEqual(['erased', undefined]);
      const by = operator();
      const resent = (session: Db) => erase(session, other.id, by);
      expect(await inTurn(databaseUrl, resent, resent)).toEqual(['erased', 'erased']);
    }
  });

  test('a job that is being completed is still running', async ({ db, databaseUrl }) => {
    const job = await processingJob(db);
    await withSessions(databaseUrl, async (worker) => {
      await worker.begin();
      await complete(worker, [{ ...job, result: 1 }]);
      expect(await erase(db, job.id)).toEqual({ wrongState: 'processing' });
      await worker.commit();
    });
    expect(await statusOf(db, job.id)).toBe('completed');
  });

  test('a cancel that waits for nothing and an erasure that waits for a redrive end in a job that is cancelled', async ({
    db,
    databaseUrl,
  }) => {
    const job = await deadJob(db);
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      await redrive(first, job.id);
      const answer = erase(second, job.id);
      await waitsForLock(first, second);
      expect(await cancel(first, job.id)).toBe('cancelled');
      await first.commit();
      // It ended again before the erasure looked: that is what it erases.
      expect(await answer).toBe('erased');
    });
    expect(await rowOf(db, job.id)).toBeUndefined();
  });
});
