import type { Db } from '../../functions/queue/db.ts';
import { type Kinds, openPosition, publish } from '../../functions/queue/marks.ts';
import { pause, resume } from '../../functions/queue/pause.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { type Sight, type Slot, seeStart } from '../../functions/queue/see-start.ts';
import { DRAIN_GOAL_SECONDS, rowsThatMatter, type Start } from '../../functions/queue/start.ts';
import { openClient } from '../support/database.ts';
import { pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { claimSome, KINDS } from './claiming.ts';

const tick: Start & Slot = { worker: 'work', slot: 0, woken: false, lingers: false, concurrency: 10 };
const above = { ...tick, slot: 1 };
const see = (
  db: Db,
  start = tick,
  { queues = ['default'], kinds = KINDS }: { queues?: string[]; kinds?: Kinds } = {},
) => seeStart(db, start, { queues, kinds });

describe('due is', () => {
  test.for<[what: string, due: number, make: (db: Db) => Promise<unknown>]>([
    ['what has come', 1, (db) => pendingJob(db)],
    ['not what is to come', 0, (db) => pendingJob(db, { dueInSeconds: 60 })],
    ['not what is processed', 0, (db) => processingJob(db)],
    ['not what this run cannot do', 0, (db) => pendingJob(db, { kind: 'foreign' })],
    ['not what is in queues of others', 0, (db) => pendingJob(db, { queue: 'foreign' })],
    ['a suspect', 1, (db) => pendingJob(db, { reaps: 2 })],
    [
      'what is in any of its queues, of any priority',
      2,
      async (db) => {
        await pendingJob(db, { queue: 'other', priority: -5 });
        await pendingJob(db, { priority: 5 });
      },
    ],
    [
      'not what is paused by its queue',
      0,
      async (db) => {
        await pendingJob(db);
        await pause(db, 'queue', 'default');
      },
    ],
    [
      'not what is paused by its kind',
      0,
      async (db) => {
        await pendingJob(db, { reaps: 2 });
        await pause(db, 'kind', 'test.kind');
      },
    ],
  ])('%s', async ([, due, make], { db }) => {
    await make(db);
    expect(await see(db, above, { queues: ['default', 'other'] })).toMatchObject({ due });
  });

  test('counted as far as it matters, and so is what is processed', async ({ db }) => {
    await db.query(`SELECT millrace.enqueue('test.kind', '1') FROM generate_series(1, 300)`);
    for (let n = 0; n < 5; n++) await processingJob(db);
    await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    await processingJob(db, { queue: 'foreign' });
    expect(await see(db)).toMatchObject({ due: 1, inFlight: 0 });
    for (const [slot, jobSeconds] of [
      [1, undefined],
      [1, 2],
      [2, 20],
      [1, 0.1],
    ] as const) {
      await db.query('DELETE FROM millrace.slots');
      if (jobSeconds !== undefined) await slotOf(db, { jobSeconds });
      const matters = rowsThatMatter({ ...tick, slot }, jobSeconds);
      const sight = await see(db, { ...tick, slot });
      expect(sight).toMatchObject({ jobSeconds, inFlight: Math.min(5, matters) });
      // Both round a number that has no end up; they may differ by one row, which decides nothing.
      expect(Math.abs(sight.due - Math.min(300, matters))).toBeLessThanOrEqual(1);
    }
    expect(DRAIN_GOAL_SECONDS).toBe(10);
  });
});

describe('from where others have seen on', () => {
  const seenUntilNow = async (db: Db) => {
    const position = await openPosition(db, 'default', KINDS);
    const { rows } = await db.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    await publish(db, 'default', KINDS, { ...position, marks: Array(11).fill(rows[0]?.now) });
  };
  const rescannedAgo = (db: Db, seconds: number) =>
    db.query('UPDATE millrace.claim_marks SET rescanned_at = now() - make_interval(secs => $1)', [seconds]);

  test('what lies before that is not looked at, until somebody is to look back', async ({ db }) => {
    await pendingJob(db, { dueInSeconds: -10 });
    await seenUntilNow(db);
    expect(await see(db)).toMatchObject({ due: 0 });
    await rescannedAgo(db, 31);
    expect(await see(db, above)).toMatchObject({ due: 1 });
    expect(await see(db)).toMatchObject({ due: 1 });
  });

  test('what a resume has brought is looked at', async ({ db }) => {
    await pendingJob(db, { dueInSeconds: -10 });
    await pause(db, 'kind', 'test.kind');
    await seenUntilNow(db);
    await resume(db, 'kind', 'test.kind');
    expect(await see(db)).toMatchObject({ due: 1 });
  });

  test('what was put in by a transaction that stayed open is found by the next tick, though nobody claims between ticks', async ({
    db,
    directUrl,
  }) => {
    const late = await openClient(directUrl);
    await late.query('BEGIN');
    await late.query(`SELECT millrace.enqueue('test.kind', '1')`);
    await late.query(`UPDATE millrace.live_jobs SET run_at = run_at - interval '3 s'`);
    await seenUntilNow(db);
    await late.query('COMMIT').finally(() => late.end());
    await rescannedAgo(db, 60);
    expect(await see(db)).toMatchObject({ due: 1 });
  });

  test('the first slot takes the rescan, so that an idle queue is seen to be served; the others do not', async ({
    db,
  }) => {
    await see(db, above);
    expect((await db.query('SELECT FROM millrace.claim_marks')).rowCount).toBe(0);
    await see(db);
    const { rows } = await db.query(
      `SELECT queue, kinds, '-infinity' = ALL (marks) AS empty FROM millrace.claim_marks`,
    );
    expect(rows).toEqual([{ queue: 'default', kinds: ['test.kind'], empty: true }]);
    await pendingJob(db, { dueInSeconds: 60 });
    expect(await readiness(db)).toMatchObject({ unclaimedQueues: [] });
    await rescannedAgo(db, 300);
    await see(db);
    const stale = await db.query(`SELECT FROM millrace.claim_marks WHERE rescanned_at < now() - interval '1 minute'`);
    expect(stale.rowCount).toBe(0);
  });
});

describe('the holder is', () => {
  test.for<[string, Parameters<typeof slotOf>[1], Partial<Sight>]>([
    ['who says so', { startedAgo: 40, presentFor: 5 }, { holder: { ageSeconds: expect.closeTo(40, 0) } }],
    ['nobody who has left', { presentFor: 0 }, { holder: undefined }],
    ['nobody who has not said so again', { presentFor: -1 }, { holder: undefined }],
    ['nobody whose presence was written before the clock was set back', { presentFor: 3600 }, { holder: undefined }],
    ['nobody in another slot', { slot: 1 }, { holder: undefined, token: null }],
    ['nobody of another worker', { worker: 'other' }, { holder: undefined, token: null, jobSeconds: undefined }],
  ])('%s', async ([, slot, sight], { db }) => {
    await slotOf(db, slot);
    expect(await see(db)).toMatchObject({ jobSeconds: 1, ...sight });
  });
});

test('a plan that was made in an idle queue reads no whole table in the burst that follows, nor does that of a claim', async ({
  directUrl,
}) => {
  const session = await openClient(directUrl);
  const rowsRead = async () => {
    const { rows } = await session.query(
      `SELECT seq_tup_read::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'live_jobs'`,
    );
    return rows[0].read;
  };
  try {
    await session.query('BEGIN; ANALYZE millrace.live_jobs');
    await see(session, above);
    await claimSome(session);
    await session.query(`SELECT millrace.enqueue('test.kind', '1') FROM generate_series(1, 1000)`);
    // Time stands still in a transaction.
    await session.query('UPDATE millrace.live_jobs SET run_at = now()');
    const before = await rowsRead();
    expect(await see(session, above)).toMatchObject({ due: 111 });
    expect((await claimSome(session)).jobs).toHaveLength(10);
    expect(await rowsRead()).toBe(before);
  } finally {
    await session.end();
  }
});

test('what is paused is not read, however much there is of it', async ({ directUrl }) => {
  const session = await openClient(directUrl);
  const rowsRead = async () => {
    const { rows } = await session.query(
      `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'live_jobs'`,
    );
    return rows[0].read;
  };
  try {
    await session.query('BEGIN');
    await session.query(`SELECT millrace.enqueue('test.kind', '1') FROM generate_series(1, 300)`);
    await session.query('UPDATE millrace.live_jobs SET run_at = now(), reaps = (random() < 0.5)::int * 2');
    await session.query(`INSERT INTO millrace.pauses (scope, name) VALUES ('queue', 'default')`);
    const before = await rowsRead();
    expect(await see(session, above)).toMatchObject({ due: 0 });
    expect(await rowsRead()).toBe(before);
  } finally {
    await session.end();
  }
});

interface SlotFields {
  worker?: string;
  slot?: number;
  startedAgo?: number;
  presentFor?: number;
  jobSeconds?: number;
}

async function slotOf(db: Db, fields: SlotFields = {}): Promise<void> {
  const { worker = 'work', slot = 0, startedAgo = 5, presentFor = 5, jobSeconds = 1 } = fields;
  await db.query(
    `INSERT INTO millrace.slots (worker, slot, token, started_at, present_until, job_seconds)
     VALUES ($1, $2, gen_random_uuid(), clock_timestamp() - make_interval(secs => $3),
             clock_timestamp() + make_interval(secs => $4), $5)`,
    [worker, slot, startedAgo, presentFor, jobSeconds],
  );
}
