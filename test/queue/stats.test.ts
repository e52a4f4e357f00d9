import { cancel } from '../../functions/queue/cancel.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { prune } from '../../functions/queue/prune.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { rollUp } from '../../functions/queue/roll-up.ts';
import { stats } from '../../functions/queue/stats.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

describe('stats', () => {
  test('counts what is there, by kind and status', async ({ db }) => {
    for (let n = 0; n < 3; n++) await pendingJob(db, { kind: 'a' });
    for (let n = 0; n < 2; n++) await processingJob(db, { kind: 'a' });
    await processingJob(db, { kind: 'b' });
    for (let n = 0; n < 4; n++) await finishedJob(db, { kind: 'a' });
    await finishedJob(db, { kind: 'b', status: 'cancelled' });
    await deadJob(db, { kind: 'b' });
    const { kinds, truncated } = await stats(db);
    expect(truncated).toBe(false);
    expect(kinds).toMatchObject([
      { kind: 'a', pending: 3, processing: 2, dead: 0, totals: { enqueued: 9, completed: 4, buried: 0 } },
      { kind: 'b', pending: 0, processing: 1, dead: 1, totals: { enqueued: 3, cancelled: 1, buried: 1 } },
    ]);
  });

  test('follows jobs through their lives', async ({ db }) => {
    const first = async () => (await stats(db)).kinds[0];
    const { id } = await insertJob(db, { kind: 'a', payload: 1 });
    await insertJob(db, { kind: 'a', payload: 1, delaySeconds: 60 });
    expect(await first()).toMatchObject({ pending: 2, processing: 0, dead: 0 });
    await cancel(db, id);
    expect(await first()).toMatchObject({ pending: 1, totals: { cancelled: 1 } });
    const dead = await deadJob(db, { kind: 'a' });
    expect(await first()).toMatchObject({ pending: 1, dead: 1 });
    await redrive(db, dead.id);
    expect(await first()).toMatchObject({ pending: 2, dead: 0, totals: { buried: 1, redriven: 1 } });
  });

  test('is not lowered by roll-ups or retention', async ({ db }) => {
    await finishedJob(db, { kind: 'a' });
    await deadJob(db, { kind: 'a', finishedSecondsAgo: 40 * 86_400 });
    const before = (await stats(db)).kinds[0]?.totals;
    await rollUp(db);
    expect((await stats(db)).kinds[0]?.totals).toEqual(before);
    await finishedJob(db, { kind: 'a' });
    await prune(db, { deadKeepDays: 30, keepDays: 7, limit: 100 });
    expect((await stats(db)).kinds[0]).toMatchObject({
      dead: 0,
      pending: 0,
      totals: { enqueued: 3, completed: 2, buried: 1 },
    });
  });

  test('tells the age of the oldest due job, suspects included, by the clock of the database', async ({ db }) => {
    await pendingJob(db, { kind: 'a', dueInSeconds: -10 });
    await pendingJob(db, { kind: 'a', dueInSeconds: -100, reaps: 2, priority: -5 });
    await pendingJob(db, { kind: 'b', dueInSeconds: 100 });
    await processingJob(db, { kind: 'c' });
    const ages = (await stats(db)).kinds.map((kind) => kind.oldestDueSeconds);
    expect(ages[0]).toBeGreaterThanOrEqual(100);
    expect(ages[0]).toBeLessThan(160);
    expect(ages.slice(1)).toEqual([0, 0]);
  });

  test('shows a kind that the counters have lost', async ({ db }) => {
    await pendingJob(db, { kind: 'a', dueInSeconds: -5 });
    await db.query('TRUNCATE millrace.counter_deltas');
    expect((await stats(db)).kinds).toMatchObject([{ kind: 'a', oldestDueSeconds: expect.any(Number), pending: 0 }]);
  });

  test('counts dead jobs up to 1,000 of each kind, and kinds up to 1,000', async ({ db }) => {
    await db.query(
      `INSERT INTO millrace.dead_jobs
         (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes, payload)
       SELECT millrace.uuidv7(), CASE WHEN i <= 1005 THEN 'a' ELSE 'b' END, 'default', 0, 5, 5, 0, now(), now(), 0, '{}'
       FROM generate_series(1, 1007) i`,
    );
    await db.query(
      `INSERT INTO millrace.counter_deltas (kind, event, n) VALUES ('a', 'enqueued', 1005), ('b', 'enqueued', 2)`,
    );
    expect((await stats(db)).kinds.map(({ dead }) => dead)).toEqual([1000, 2]);
    await db.query(
      `INSERT INTO millrace.counter_deltas (kind, event, n) SELECT 'k' || i, 'enqueued', 1 FROM generate_series(1, 999) i`,
    );
    const { kinds, truncated } = await stats(db);
    expect(kinds).toHaveLength(1000);
    expect(truncated).toBe(true);
  });
});
