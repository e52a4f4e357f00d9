import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import type { Db } from '../../functions/queue/db.ts';
import { writeProgress } from '../../functions/queue/progress.ts';
import { reap } from '../../functions/queue/reap.ts';
import { retry } from '../../functions/queue/retry.ts';
import { ageLive, expireLease, pendingJob, processingJob, rowOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { claimSome } from './claiming.ts';
import { withSessions } from './sessions.ts';

const error = { attempt: 1, name: 'Error', message: 'boom' };
const half = { fraction: 0.5, note: 'half' };
const shown = async (db: Db, id: string) => {
  const { progress, progress_note: note, progress_at: at } = (await rowOf(db, id)) ?? {};
  return at === null ? null : { progress, note };
};
const kept = async (db: Db) => (await db.query('SELECT id, fraction, note FROM millrace.job_progress')).rows;

test('what running jobs say is shown, each its own, the latest in the place of the one before', async ({ db }) => {
  const [first, second] = [await processingJob(db), await processingJob(db)];
  const told = [
    { ...first, fraction: 0.125, note: 'ä "{\\},\n' },
    { ...second, fraction: 1, note: null },
  ];
  expect((await writeProgress(db, told)).sort()).toEqual([first.id, second.id].sort());
  expect(await shown(db, first.id)).toEqual({ progress: 0.125, note: 'ä "{\\},\n' });
  expect(await shown(db, second.id)).toEqual({ progress: 1, note: null });
  const before = (await rowOf(db, first.id))?.progress_at;
  await writeProgress(db, [{ ...first, fraction: 0, note: null }]);
  expect(await shown(db, first.id)).toEqual({ progress: 0, note: null });
  expect((await rowOf(db, first.id))?.progress_at.getTime()).toBeGreaterThanOrEqual(before.getTime());
});

test('with nothing to say it asks nothing', async () => {
  expect(await writeProgress({ query: () => Promise.reject(new Error('asked')) }, [])).toEqual([]);
});

test('a claim that is not the current one writes nothing', async ({ db }) => {
  const [reaped, completed, other] = [await processingJob(db), await processingJob(db), await processingJob(db)];
  const pending = await pendingJob(db);
  await expireLease(db, reaped.id);
  await reap(db, { limit: 10 });
  await complete(db, [{ ...completed, result: 1 }]);
  const claims = [
    reaped,
    completed,
    { id: pending.id, token: randomUUID() },
    { id: other.id, token: randomUUID() },
    { id: other.id, token: completed.token },
    { id: randomUUID(), token: other.token },
  ];
  expect(
    await writeProgress(
      db,
      claims.map((claim) => ({ ...claim, ...half })),
    ),
  ).toEqual([]);
  expect(await kept(db)).toEqual([]);
});

describe('a row that somebody holds', () => {
  test('to settle it: it is passed over, and the others are written', async ({ db, databaseUrl }) => {
    const [settled, runs] = [await processingJob(db), await processingJob(db)];
    const told = [settled, runs].map((job) => ({ ...job, ...half }));
    await withSessions(databaseUrl, async (one) => {
      await one.begin();
      await complete(one, [{ ...settled, result: 1 }]);
      expect(await writeProgress(db, told)).toEqual([runs.id]);
      await one.rollback();
    });
    expect(await shown(db, settled.id)).toBeNull();
  });

  test('to cancel it: both go on', async ({ db, databaseUrl }) => {
    const job = await processingJob(db);
    await withSessions(databaseUrl, async (one) => {
      await one.begin();
      await writeProgress(one, [{ ...job, ...half }]);
      await db.query('UPDATE millrace.live_jobs SET cancel_requested_at = clock_timestamp() WHERE id = $1', [job.id]);
      await one.commit();
    });
    expect(await rowOf(db, job.id)).toMatchObject({ progress: 0.5, cancel_requested_at: expect.any(Date) });
  });
});

describe('progress is of the latest attempt', () => {
  test('a job that waits for its next attempt shows how far it got; from the claim on it shows nothing', async ({
    db,
  }) => {
    const job = await processingJob(db);
    await writeProgress(db, [{ ...job, ...half }]);
    await retry(db, [{ ...job, error, delaySeconds: 0 }]);
    expect(await shown(db, job.id)).toEqual({ progress: 0.5, note: 'half' });
    const { jobs } = await claimSome(db);
    expect(jobs.map(({ id }) => id)).toEqual([job.id]);
    expect(await shown(db, job.id)).toBeNull();
    const [again] = jobs;
    if (again) await writeProgress(db, [{ ...again, fraction: 0.1, note: null }]);
    expect(await shown(db, job.id)).toEqual({ progress: 0.1, note: null });
  });

  test('so does a job whose worker died', async ({ db }) => {
    const job = await processingJob(db);
    await writeProgress(db, [{ ...job, ...half }]);
    await expireLease(db, job.id);
    await reap(db, { limit: 10 });
    expect(await shown(db, job.id)).toEqual({ progress: 0.5, note: 'half' });
    await ageLive(db, job.id, 60);
    await claimSome(db);
    expect(await shown(db, job.id)).toBeNull();
  });

  test('a job that has ended shows none', async ({ db }) => {
    const [completed, buried, cancelled] = [await processingJob(db), await processingJob(db), await processingJob(db)];
    await writeProgress(
      db,
      [completed, buried, cancelled].map((job) => ({ ...job, ...half })),
    );
    await complete(db, [{ ...completed, result: 1 }]);
    await bury(db, [{ ...buried, error }]);
    await retry(db, [{ ...cancelled, error, delaySeconds: 0 }]);
    await cancel(db, cancelled.id);
    for (const { id } of [completed, buried, cancelled]) expect(await shown(db, id)).toBeNull();
  });
});
