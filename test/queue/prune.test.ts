import { randomUUID } from 'node:crypto';
import type { Db } from '../../functions/queue/db.ts';
import { prune } from '../../functions/queue/prune.ts';
import { upkeep } from '../../functions/queue/upkeep.ts';
import { openClient } from '../support/database.ts';
import { counterOf, deadJob, finishedJob, pendingJob, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { homeOf, layPastDays } from '../support/partitions.ts';
import { declaredSchedule } from '../support/schedules.ts';

const DAY = 86_400;
const OPTIONS = { deadKeepDays: 30, keepDays: 7, limit: 100 };

describe('dead jobs', () => {
  test('go when they have been dead for longer than they are kept, whenever they were created', async ({ db }) => {
    const old = await deadJob(db, { createdSecondsAgo: 60 * DAY, finishedSecondsAgo: 31 * DAY });
    const fresh = await deadJob(db, { createdSecondsAgo: 60 * DAY, finishedSecondsAgo: 29 * DAY });
    expect(await prune(db, OPTIONS)).toMatchObject({ pruned: 1 });
    expect(await rowOf(db, old.id)).toBeUndefined();
    expect(await homeOf(db, 'payloads', old.id)).toBeUndefined();
    expect(await statusOf(db, fresh.id)).toBe('dead');
  });

  test('never lower a counter', async ({ db }) => {
    await deadJob(db, { kind: 'counted', finishedSecondsAgo: 31 * DAY });
    await prune(db, OPTIONS);
    expect(await counterOf(db, 'counted', 'buried')).toBe(1);
    expect(await counterOf(db, 'counted', 'enqueued')).toBe(1);
  });

  test('go oldest first, at most the limit in a call', async ({ db }) => {
    for (const days of [33, 35, 31, 34, 32]) await deadJob(db, { subject: `${days}`, finishedSecondsAgo: days * DAY });
    expect(await prune(db, { ...OPTIONS, limit: 2 })).toMatchObject({ pruned: 2, more: true });
    const { rows } = await db.query('SELECT subject FROM millrace.dead_jobs ORDER BY subject');
    expect(rows.map(({ subject }) => subject)).toEqual(['31', '32', '33']);
    expect(await prune(db, { ...OPTIONS, limit: 2 })).toMatchObject({ pruned: 2 });
    expect(await prune(db, { ...OPTIONS, limit: 2 })).toMatchObject({ pruned: 1, more: false });
  });

  test('one that somebody redrives at this moment is left alone, and not waited for', async ({ db, databaseUrl }) => {
    const { id } = await deadJob(db, { finishedSecondsAgo: 31 * DAY });
    const other = await openClient(databaseUrl);
    await other.query('BEGIN');
    await other.query('SELECT FROM millrace.dead_jobs WHERE id = $1 FOR UPDATE', [id]);
    expect(await prune(db, OPTIONS)).toMatchObject({ pruned: 0 });
    await other.query('ROLLBACK');
    await other.end();
    expect(await statusOf(db, id)).toBe('dead');
  });
});

describe('finished jobs whose ids belong to no recent day', () => {
  test('go with their payload when their end is old enough', async ({ db }) => {
    const ids = { createdSecondsAgo: 400 * DAY };
    const old = await finishedJob(db, { ...ids, finishedSecondsAgo: 8 * DAY });
    const fresh = await finishedJob(db, { ...ids, finishedSecondsAgo: 6 * DAY });
    const waiting = await pendingJob(db, { ...ids, payload: { still: 'needed' } });
    expect(await prune(db, OPTIONS)).toMatchObject({ pruned: 1 });
    expect(await rowOf(db, old.id)).toBeUndefined();
    expect(await homeOf(db, 'payloads', old.id)).toBeUndefined();
    expect(await statusOf(db, fresh.id)).toBe('completed');
    expect((await rowOf(db, waiting.id))?.payload).toEqual({ still: 'needed' });
  });

  test('so do ids from the future and ids without a time', async ({ db }) => {
    const ids = ['ffffffff-ffff-4fff-bfff-ffffffffffff', randomUUID().replace(/^./, 'c')];
    for (const id of ids) await finishedJob(db, { id, finishedSecondsAgo: 8 * DAY });
    const ahead = await finishedJob(db, { createdSecondsAgo: -900 * DAY, finishedSecondsAgo: 8 * DAY });
    const fresh = await finishedJob(db, { createdSecondsAgo: -900 * DAY });
    expect(await prune(db, OPTIONS)).toMatchObject({ pruned: 3 });
    for (const id of [...ids, ahead.id]) expect(await homeOf(db, 'payloads', id)).toBeUndefined();
    expect(await statusOf(db, fresh.id)).toBe('completed');
  });

  test('days that retention drops whole are not deleted row by row', async ({ own: { pool } }) => {
    await layPastDays(pool, 12);
    await finishedJob(pool, { createdSecondsAgo: 10 * DAY, finishedSecondsAgo: 10 * DAY });
    await finishedJob(pool, { createdSecondsAgo: 7.5 * DAY, finishedSecondsAgo: 7.5 * DAY });
    expect(await prune(pool, OPTIONS)).toMatchObject({ pruned: 0 });
  });

  test('after upkeep and prune no payload is left without a job', async ({ own: { pool } }) => {
    await layPastDays(pool, 12);
    const at = { createdSecondsAgo: 10 * DAY };
    const waiting = await pendingJob(pool, at);
    await finishedJob(pool, { ...at, finishedSecondsAgo: 5 * DAY });
    await deadJob(pool, { ...at, finishedSecondsAgo: 5 * DAY });
    await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    await pool.query('DELETE FROM millrace.live_jobs WHERE id = $1', [waiting.id]);
    await finishedJob(pool, { finishedSecondsAgo: 1 });
    await pool.query(
      `INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
       VALUES ($1, 'test.kind', 'default', 'completed', 0, 1, 5, 0, now(), now(), 2)`,
      [waiting.id],
    );
    await pool.query(`UPDATE millrace.finished_jobs_oldest SET finished_at = finished_at - interval '10 days'`);
    await pool.query(`UPDATE millrace.dead_jobs SET finished_at = finished_at - interval '40 days'`);
    await prune(pool, OPTIONS);
    const { rows } = await pool.query(
      `SELECT count(*)::int AS payloads, (SELECT count(*)::int FROM millrace.jobs) AS jobs FROM millrace.payloads`,
    );
    expect(rows).toEqual([{ payloads: 1, jobs: 1 }]);
  });
});

describe('idempotency keys', () => {
  const key = async (db: Db, jobId: string, checkedDaysAgo: number) => {
    await db.query(
      `INSERT INTO millrace.idempotency_keys (kind, key, fingerprint, job_id, created_at, checked_at)
       VALUES ('test.kind', $1::text || $2::int, '', $1::text::uuid, now() - make_interval(days => $2), now() - make_interval(days => $2))`,
      [jobId, checkedDaysAgo],
    );
  };
  const keysOf = async (db: Db) =>
    (
      await db.query(
        `SELECT job_id AS id, (now() - checked_at < interval '1 hour') AS checked FROM millrace.idempotency_keys ORDER BY job_id`,
      )
    ).rows;

  test('go when they are old and their job is in no table; others are looked at again after the same time', async ({
    db,
  }) => {
    const jobs = [await pendingJob(db), await processingJob(db), await finishedJob(db), await deadJob(db)];
    for (const { id } of jobs) await key(db, id, 8);
    await key(db, randomUUID(), 8);
    expect(await prune(db, OPTIONS)).toMatchObject({ prunedKeys: 1 });
    const kept = jobs.map(({ id }) => ({ id, checked: true }));
    expect(await keysOf(db)).toEqual(kept.toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  });

  test('stay for as long as jobs are kept, and no shorter than they themselves are to be', async ({ db }) => {
    const gone = randomUUID();
    for (const days of [0, 6, 20, 40]) await key(db, gone, days);
    expect(await prune(db, { ...OPTIONS, keyKeepDays: 30 })).toMatchObject({ prunedKeys: 1 });
    expect(await prune(db, OPTIONS)).toMatchObject({ prunedKeys: 1 });
    expect(await prune(db, { ...OPTIONS, keepDays: 1 })).toMatchObject({ prunedKeys: 1 });
    expect(await keysOf(db)).toHaveLength(1);
  });

  test('one that was put in again meanwhile stays', async ({ db }) => {
    await key(db, randomUUID(), 8);
    const again = await pendingJob(db);
    const between: Db = {
      query: async (text, values) => {
        const answer = await db.query(text, values);
        if (text.includes('AS needed')) {
          // Another reaper, and an enqueue: they come between the look and the deletion.
          await db.query('UPDATE millrace.idempotency_keys SET job_id = $1, checked_at = now()', [again.id]);
        }
        return answer as never;
      },
    };
    expect(await prune(between, OPTIONS)).toMatchObject({ prunedKeys: 0 });
    expect(await keysOf(db)).toHaveLength(1);
  });

  test('so many at a time, also of those that stay', async ({ db }) => {
    for (const days of [8, 9, 10]) await key(db, (await pendingJob(db)).id, days);
    expect(await prune(db, { ...OPTIONS, limit: 2 })).toMatchObject({ prunedKeys: 0, more: true });
    expect((await keysOf(db)).map(({ checked }) => checked)).toEqual(expect.arrayContaining([true, true, false]));
    expect(await prune(db, { ...OPTIONS, limit: 2 })).toMatchObject({ prunedKeys: 0, more: false });
  });
});

test('progress goes when its job has ended, and stays while it lives', async ({ db }) => {
  const live = [await pendingJob(db), await processingJob(db)].map(({ id }) => id);
  const ended = [await finishedJob(db), await deadJob(db)].map(({ id }) => id);
  await db.query(
    `INSERT INTO millrace.job_progress (id, fraction, updated_at) SELECT id, 1, now() - interval '2 minutes' FROM unnest($1::uuid[]) id`,
    [[...live, ...ended, randomUUID()]],
  );
  expect(await prune(db, OPTIONS)).toMatchObject({ prunedProgress: 3 });
  const { rows } = await db.query<{ id: string }>('SELECT id FROM millrace.job_progress');
  expect(rows.map(({ id }) => id).sort()).toEqual(live.sort());
});

test('the log of operators goes after a year', async ({ db }) => {
  for (const days of [364, 366, 1000]) {
    await db.query(
      `INSERT INTO millrace.operator_log (at, action, target, count) VALUES (now() - make_interval(days => $1), 'pause', '{}', 1)`,
      [days],
    );
  }
  expect(await prune(db, { ...OPTIONS, limit: 1 })).toMatchObject({ prunedLog: 1, more: true });
  expect(await prune(db, OPTIONS)).toMatchObject({ prunedLog: 1 });
  expect((await db.query('SELECT FROM millrace.operator_log')).rowCount).toBe(1);
});

test('a schedule that no worker has declared for 30 days goes', async ({ db }) => {
  await declaredSchedule(db, { name: 'kept', declaredSecondsAgo: 29 * 86_400 });
  await declaredSchedule(db, { name: 'gone', declaredSecondsAgo: 31 * 86_400 });
  expect(await prune(db, OPTIONS)).toMatchObject({ prunedSchedules: 1 });
  expect((await db.query('SELECT name FROM millrace.schedules')).rows).toEqual([{ name: 'kept' }]);
});
