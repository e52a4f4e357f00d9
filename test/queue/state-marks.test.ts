import type pg from 'pg';
import type { Db } from '../../functions/queue/db.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { StateMarks } from '../../functions/queue/state-marks.ts';
import { stats } from '../../functions/queue/stats.ts';
import { pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, openClient, test, vi } from '../support/fixtures.ts';
import { costOf } from './pages.ts';

const KIND = 'test.kind';

async function stateOf(db: Db, marks?: StateMarks) {
  const { kinds } = await stats(db, marks);
  const { lagSeconds, unclaimedKinds } = await readiness(db, marks);
  return {
    ages: kinds.map(({ kind, processing, oldestDueSeconds }) => [kind, processing, Math.floor(oldestDueSeconds)]),
    lagSeconds: Math.floor(lagSeconds),
    unclaimedKinds,
  };
}

test('looks from where the last one ended see what one from the beginning sees', async ({ db }) => {
  const marks = new StateMarks();
  const same = async () => expect(await stateOf(db, marks)).toEqual(await stateOf(db));
  await same();
  await pendingJob(db, { kind: 'a', dueInSeconds: -3600 });
  await processingJob(db, { kind: 'b', leaseExpiredSecondsAgo: 600 });
  await same();
  await same();
  await db.query('DELETE FROM millrace.live_jobs');
  await same();
  await pendingJob(db, { kind: 'a', dueInSeconds: -10 });
  await pendingJob(db, { kind: 'b', dueInSeconds: 100 });
  await pendingJob(db, { kind: 'c', dueInSeconds: -7200 });
  await processingJob(db, { kind: 'd', leaseExpiredSecondsAgo: 10 });
  await processingJob(db, { kind: 'd', leaseSeconds: 900 });
  await same();
  await pendingJob(db, { kind: 'b', dueInSeconds: -1 });
  await same();
  await openPosition(
    db,
    'default',
    new Map([
      ['b', 30],
      ['z', 30],
    ]),
  );
  await same();
});

describe('what was put behind the marks by hand', () => {
  const behind = async (db: Db, marks: StateMarks) => {
    await pendingJob(db, { dueInSeconds: -5 });
    await stateOf(db, marks);
    await pendingJob(db, { dueInSeconds: -3600 });
    return (await stateOf(db, marks)).lagSeconds;
  };

  test('is not seen by a look that is not to look there', async ({ db }) => {
    expect(await behind(db, new StateMarks())).toBeLessThan(60);
    expect((await stateOf(db)).lagSeconds).toBeGreaterThan(3000);
  });

  test('is seen once it is time to look there', async ({ db }) => {
    const marks = new StateMarks(0);
    await behind(db, marks);
    await vi.waitFor(async () => expect((await stateOf(db, marks)).lagSeconds).toBeGreaterThan(3000), 10_000);
  });

  test('is seen in the order in which it lies, whatever kinds there are', async ({ db }) => {
    const marks = new StateMarks(0);
    await pendingJob(db, { kind: 'a', dueInSeconds: -5 });
    await pendingJob(db, { kind: 'b', dueInSeconds: 5 });
    await stateOf(db, marks);
    await pendingJob(db, { kind: 'a', dueInSeconds: -400 * 86_400 });
    await pendingJob(db, { kind: 'a', dueInSeconds: -3600 });
    await pendingJob(db, { kind: 'b', dueInSeconds: -60 });
    await processingJob(db, { kind: 'b', leaseExpiredSecondsAgo: 4000 });
    await vi.waitFor(async () => expect(await stateOf(db, marks)).toEqual(await stateOf(db)), 10_000);
  });

  test('a look is from the beginning where the database’s clock was set back', async ({ db }) => {
    const marks = new StateMarks();
    await behind(db, marks);
    marks.saw({ at: '2999-01-01T00:00:00Z', pending: {} }, marks.parameters());
    expect((await stateOf(db, marks)).lagSeconds).toBeGreaterThan(3000);
  });
});

test('a look from a mark does not walk what has flowed by since vacuum was kept away', async ({
  own: { pool: db, url },
}) => {
  const many = 3000;
  const [pinning, client] = [await openClient(url), await openClient(url)];
  const entries = (verb: (on: Db) => Promise<unknown>) => entriesOf(client, verb);
  try {
    await pinning.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await pinning.query('SELECT count(*) FROM millrace.live_jobs');
    await openPosition(db, 'default', new Map([[KIND, 30]]));
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, run_at)
       SELECT millrace.uuidv7(), $1, now() - interval '1 hour' FROM generate_series(1, ${many})`,
      [KIND],
    );
    await db.query(
      `UPDATE millrace.live_jobs
       SET status = 'processing', attempts = 1, locked_by = id, locked_until = now() - interval '50 minutes'`,
    );
    await db.query('DELETE FROM millrace.live_jobs');
    await pendingJob(db, { kind: KIND, dueInSeconds: -1 });
    await processingJob(db, { kind: KIND });
    const marks = new StateMarks();
    expect(await entries((on) => stats(on, marks))).toBeGreaterThan(2 * many);
    expect(await entries((on) => stats(on, marks))).toBeLessThan(100);
    expect(await entries((on) => readiness(on, marks))).toBeLessThan(100);
  } finally {
    await Promise.all([pinning.end(), client.end()]);
  }
});

test('nor does it so with the statistics of a moment at which next to nothing was pending', async ({
  own: { pool: db, url },
}) => {
  const [pinning, client] = [await openClient(url), await openClient(url)];
  const entries = (verb: (on: Db) => Promise<unknown>) => entriesOf(client, verb);
  try {
    await pendingJob(db, { kind: KIND });
    await openPosition(db, 'default', new Map([[KIND, 30]]));
    await pinning.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await pinning.query('SELECT count(*) FROM millrace.live_jobs');
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, run_at)
       SELECT millrace.uuidv7(), $1, now() - interval '1 hour' FROM generate_series(1, 50000)`,
      [KIND],
    );
    await db.query(
      `UPDATE millrace.live_jobs
       SET status = 'processing', attempts = 1, locked_by = id, locked_until = now() - interval '50 minutes'`,
    );
    for (const pending of [0, 1, 100]) {
      await db.query('DELETE FROM millrace.live_jobs');
      await db.query(
        `INSERT INTO millrace.live_jobs (id, kind) SELECT millrace.uuidv7(), $1 FROM generate_series(1, ${pending})`,
        [KIND],
      );
      await db.query(
        `INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until)
         SELECT millrace.uuidv7(), $1, 'processing', 1, gen_random_uuid(), now() + interval '1 minute'
         FROM generate_series(1, 500)`,
        [KIND],
      );
      await db.query('VACUUM ANALYZE millrace.live_jobs');
      const marks = new StateMarks();
      await stateOf(db, marks);
      expect(await entries((on) => stats(on, marks))).toBeLessThan(3000);
      expect(await entries((on) => readiness(on, marks))).toBeLessThan(3000);
    }
  } finally {
    await Promise.all([pinning.end(), client.end()]);
  }
});

test('of two looks at once the one that comes later does not take back what the other has seen', async ({ db }) => {
  const marks = new StateMarks();
  await pendingJob(db, { dueInSeconds: -100 });
  await stateOf(db, marks);
  const begun = marks.parameters();
  const found = '2020-01-01T00:00:00.000000Z';
  marks.saw({ at: '2026-01-01T00:00:01Z', pending: { [KIND]: found }, leases: found }, begun);
  const later = '2026-01-01T00:00:00.000000Z';
  marks.saw({ at: '2026-01-01T00:00:02Z', pending: { [KIND]: later }, leases: later }, begun);
  expect(marks.parameters().slice(1)).toEqual([[KIND], [found], found]);
});

test('what lies behind the marks is looked through in slices, each entry once, a few with each look', async ({
  own: { pool: db, url },
}) => {
  const many = 3000;
  const [pinning, client] = [await openClient(url), await openClient(url)];
  const entries = (verb: (on: Db) => Promise<unknown>) => entriesOf(client, verb);
  try {
    await pinning.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await pinning.query('SELECT count(*) FROM millrace.live_jobs');
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, run_at)
       SELECT millrace.uuidv7(), $1, now() - interval '1 hour' - n * interval '1 ms' FROM generate_series(1, ${many}) n`,
      [KIND],
    );
    await db.query('DELETE FROM millrace.live_jobs');
    await pendingJob(db, { kind: KIND, dueInSeconds: -1 });
    const marks = new StateMarks(0);
    await stats(db, marks);
    let now = performance.now();
    let eachMs = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += eachMs;
      return now;
    });
    const walked = await entries((on) => marks.lookBehind(on));
    expect(walked).toBeGreaterThanOrEqual(many);
    expect(walked).toBeLessThan(1.1 * many);
    eachMs = 30;
    expect(await entries((on) => marks.lookBehind(on))).toBeLessThan(50);
  } finally {
    vi.restoreAllMocks();
    await Promise.all([pinning.end(), client.end()]);
  }
});

async function entriesOf(client: pg.Client, verb: (db: Db) => Promise<unknown>): Promise<number> {
  return (await costOf(client, 'force_custom_plan', verb)).entries;
}
