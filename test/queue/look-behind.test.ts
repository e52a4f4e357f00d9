import type { Db } from '../../functions/queue/db.ts';
import { LookBehind } from '../../functions/queue/look-behind.ts';
import type { Marks } from '../../functions/queue/marks.ts';
import { pause } from '../../functions/queue/pause.ts';
import { pendingJob, processingJob } from '../support/factories.ts';
import { expect, test, vi } from '../support/fixtures.ts';
import { KINDS } from './claiming.ts';

const NONE: Marks = Array(11).fill(null);
const at = (priority: number) => 5 - priority;

async function marksAgo(db: Db, seconds: number): Promise<Marks> {
  const { rows } = await db.query<{ at: string }>(
    `SELECT to_char((now() - make_interval(secs => $1)) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`,
    [seconds],
  );
  return Array(11).fill(rows[0]?.at);
}

async function runAtOf(db: Db, id: string): Promise<string> {
  const { rows } = await db.query<{ at: string }>(
    `SELECT to_char(run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM millrace.live_jobs WHERE id = $1`,
    [id],
  );
  return rows[0]?.at as string;
}

async function looked(db: Db, until: Marks): Promise<LookBehind> {
  const look = new LookBehind({ queue: 'default', kinds: KINDS, until, rescannedAt: '2026-01-01T00:00:00Z' });
  let slices = 0;
  for (; !look.done; slices++) await look.next(db);
  expect(slices).toBeLessThan(100);
  return look;
}

test('finds the earliest of each priority, however long ago', async ({ db }) => {
  const until = await marksAgo(db, 2);
  const days = await pendingJob(db, { priority: 5, dueInSeconds: -400 * 86_400 });
  await pendingJob(db, { priority: 5, dueInSeconds: -3600 });
  const recent = await pendingJob(db, { priority: -5, dueInSeconds: -2.5 });
  const { found, foundSome } = await looked(db, until);
  const expected = [...until];
  expected[at(5)] = await runAtOf(db, days.id);
  expected[at(-5)] = await runAtOf(db, recent.id);
  expect({ found, foundSome }).toEqual({ found: expected, foundSome: true });
});

test('leaves what it is not for', async ({ db }) => {
  const until = await marksAgo(db, 2);
  await pendingJob(db, { kind: 'other.kind', dueInSeconds: -60 });
  await pendingJob(db, { queue: 'side', dueInSeconds: -60 });
  await pendingJob(db, { dueInSeconds: -1 });
  await processingJob(db);
  const { found, foundSome } = await looked(db, until);
  expect({ found, foundSome }).toEqual({ found: until, foundSome: false });
});

test.for(['kind', 'queue'] as const)('passes what is paused by %s', async (scope, { db }) => {
  const until = await marksAgo(db, 2);
  await pendingJob(db, { dueInSeconds: -60 });
  await pause(db, scope, scope === 'kind' ? 'test.kind' : 'default');
  expect((await looked(db, until)).foundSome).toBe(false);
});

test('with no mark to begin at there is nothing to look for', async ({ db }) => {
  await pendingJob(db, { dueInSeconds: -60 });
  expect((await looked(db, NONE)).foundSome).toBe(false);
});

test('a suspect that is due counts as found', async ({ db }) => {
  const until = await marksAgo(db, 2);
  await pendingJob(db, { attempts: 2, reaps: 2, dueInSeconds: -1 });
  expect(await looked(db, until)).toMatchObject({ found: until, foundSome: true });
});

test('rests for four times as long as a slice took', async ({ db }) => {
  const look = new LookBehind({
    queue: 'default',
    kinds: KINDS,
    until: await marksAgo(db, 2),
    rescannedAt: '2026-01-01T00:00:00Z',
  });
  const before = performance.now();
  await look.next(db);
  const after = performance.now();
  expect(look.done).toBe(false);
  expect(look.restUntil).toBeGreaterThanOrEqual(before + 4 * look.walkedMs);
  expect(look.restUntil).toBeLessThanOrEqual(after + 4 * look.walkedMs);
});

test.each([40, 150])('comes to its end on a connection where each statement takes %i ms', async (ms) => {
  const until = Array(11).fill('2026-01-01T00:00:00.000000Z');
  const look = new LookBehind({ queue: 'default', kinds: KINDS, until, rescannedAt: '2026-01-01T00:00:00Z' });
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  const slow: Db = {
    query: async () => {
      now += ms;
      return { rows: [], rowCount: 0 };
    },
  };
  let slices = 0;
  for (; !look.done && slices < 1000; slices++) await look.next(slow);
  clock.mockRestore();
  expect(look.done).toBe(true);
  expect(slices).toBeLessThan(300);
});
