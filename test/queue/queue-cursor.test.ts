import type { Db } from '../../functions/queue/db.ts';
import { QueueCursor } from '../../functions/queue/queue-cursor.ts';
import { pendingJob } from '../support/factories.ts';
import { expect, test, vi } from '../support/fixtures.ts';
import { claimAt, KINDS } from './claiming.ts';

const ALL = new Map([...KINDS, ['slow.kind', 600]]);

async function claimedBy(cursor: QueueCursor, db: Db, kinds = KINDS): Promise<string[]> {
  const jobs = await claimAt(cursor, db, { kinds });
  await cursor.publish(db);
  return jobs.map(({ id }) => id);
}

test.for([
  ['all kinds', ALL],
  ['those that still fit', KINDS],
] as const)('a run of half a minute and more rescans, with %s', async ([, kinds], { db }) => {
  const before = new QueueCursor('default', ALL);
  await claimedBy(before, db, ALL);
  await before.publish(db, 'now');
  await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '29.5 seconds'`);
  const late = await pendingJob(db, { dueInSeconds: -5 });
  const cursor = new QueueCursor('default', ALL);
  expect(await claimedBy(cursor, db, ALL)).toEqual([]);
  let found: string[] = [];
  await expect
    .poll(async () => {
      found = await claimedBy(cursor, db, kinds);
      return found.length;
    })
    .toBe(1);
  expect(found).toEqual([late.id]);
});

test('of the claims that follow one another one in each tenth of a second looks back over the grace', async ({
  db,
}) => {
  const cursor = new QueueCursor('default', KINDS);
  const clock = vi.spyOn(performance, 'now');
  const soon: unknown[] = [];
  for (const ms of [1000, 1001, 1099, 1100, 1199, 1250]) {
    clock.mockReturnValue(ms);
    soon.push((await cursor.lane(db, { limit: 1, kinds: KINDS })).soon);
    await claimedBy(cursor, db);
  }
  clock.mockRestore();
  expect(soon).toEqual([false, true, true, false, true, false]);
});

test('a queue that was to be asked behind others, and was not, has not looked back', async ({ db }) => {
  const cursor = new QueueCursor('default', KINDS);
  for (let turn = 0; turn < 3; turn++) {
    expect((await cursor.lane(db, { limit: 1, kinds: KINDS })).soon).toBe(false);
  }
});

test('the last claim of a run looks back, however soon it comes after another', async ({ db }) => {
  const cursor = new QueueCursor('default', KINDS);
  const of = { limit: 1, kinds: KINDS };
  await claimedBy(cursor, db);
  expect((await cursor.lane(db, of)).soon).toBe(true);
  cursor.lookBackNext();
  expect((await cursor.lane(db, of)).soon).toBe(false);
});

test('a run of a single job may be the one in ten that takes the oldest, and busy claims take ten at once', async ({
  db,
}) => {
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.95);
  const lucky = new QueueCursor('default', KINDS);
  random.mockReturnValue(0.05);
  const cursor = new QueueCursor('default', KINDS);
  random.mockRestore();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1000);
  const of = { limit: 10, kinds: KINDS };
  const aged: number[] = [];
  for (let n = 0; n < 11; n++) {
    aged.push((await cursor.lane(db, of)).aged);
    await claimedBy(cursor, db);
  }
  clock.mockRestore();
  expect((await lucky.lane(db, { limit: 1, kinds: KINDS })).aged).toBe(1);
  expect(aged).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10]);
});
