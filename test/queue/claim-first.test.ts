import { randomUUID } from 'node:crypto';
import { claimFirst } from '../../functions/queue/claim-first.ts';
import type { Db } from '../../functions/queue/db.ts';
import { pause } from '../../functions/queue/pause.ts';
import { QueueCursor } from '../../functions/queue/queue-cursor.ts';
import { POLL_MS, Supply } from '../../functions/queue/supply.ts';
import { pendingJob, rowOf } from '../support/factories.ts';
import { expect, test, vi } from '../support/fixtures.ts';
import { claimAt, KINDS } from './claiming.ts';

const CLAIM = /FROM millrace.claim(_first)?\(/;
const QUEUES = ['first', 'second', 'third'];
const of = { limit: 10, kinds: KINDS };

async function firstOf(db: Db, cursors: readonly QueueCursor[], token = randomUUID()) {
  const lanes = [];
  for (const cursor of cursors) lanes.push(await cursor.lane(db, of));
  return claimFirst(db, { ...of, token, lanes, maxBytes: 4_000_000 });
}
const cursors = () => QUEUES.map((queue) => new QueueCursor(queue, KINDS));

test('claims from the first queue that has something, and tells of each that it has asked', async ({ db }) => {
  const [second, third] = [await pendingJob(db, { queue: 'second' }), await pendingJob(db, { queue: 'third' })];
  const token = randomUUID();
  const asked = await firstOf(db, cursors(), token);
  expect(asked.map(({ jobs }) => jobs.map(({ id, queue }) => [id, queue]))).toEqual([[], [[second.id, 'second']]]);
  expect(await rowOf(db, second.id)).toMatchObject({ status: 'processing', locked_by: token });
  expect(await rowOf(db, third.id)).toMatchObject({ status: 'pending', attempts: 0 });
});

test('passes over what is paused and foreign, and says where a suspect waits', async ({ db }) => {
  await pendingJob(db, { queue: 'first' });
  await pause(db, 'queue', 'first');
  await pendingJob(db, { queue: 'second', kind: 'foreign' });
  await pendingJob(db, { queue: 'third', reaps: 2 });
  const asked = await firstOf(db, cursors());
  expect(asked.map(({ jobs, suspectDue }) => [jobs.length, suspectDue])).toEqual([
    [0, false],
    [0, false],
    [0, true],
  ]);
});

test('sees of each queue what a claim of it alone does', async ({ db }) => {
  for (const queue of QUEUES) {
    for (let n = 0; n < 3; n++) await pendingJob(db, { queue, priority: n, dueInSeconds: -n - 5 });
  }
  const [together, alone] = [cursors(), cursors()];
  for (let place = 0; place < QUEUES.length; place++) {
    const claimed = (await firstOf(db, together.slice(place)))[0];
    expect(claimed?.jobs).toHaveLength(3);
    for (const { id } of claimed?.jobs ?? []) {
      await db.query(
        `UPDATE millrace.live_jobs SET status = 'pending', locked_by = NULL, locked_until = NULL, attempts = 0 WHERE id = $1`,
        [id],
      );
    }
    const own = await claimAt(alone[place] as QueueCursor, db);
    expect(own.map(({ id }) => id)).toEqual(claimed?.jobs.map(({ id }) => id));
  }
});

test('a run of many queues that finds nothing sends one statement for all of them, also after one was busy', async ({
  db,
}) => {
  const sent = vi.fn();
  const watched: Db = {
    query: async (text, values) => {
      sent(text);
      const answer = await db.query<never>(text, values);
      // What is done for a queue after a claim takes a while, so the next one rests until later than the one before it.
      if (!CLAIM.test(text)) await new Promise((resolve) => setTimeout(resolve, 10));
      return answer;
    },
  };
  const supply = new Supply(QUEUES, KINDS, () => {});
  const round = async () => {
    await new Promise((resolve) => setTimeout(resolve, supply.restMs(performance.now())));
    sent.mockClear();
    const taken: string[] = [];
    await supply.claim(watched, of, ({ id }) => taken.push(id));
    return { taken, claims: sent.mock.calls.filter(([text]) => CLAIM.test(text)).length };
  };
  expect(await round()).toEqual({ taken: [], claims: 1 });
  const job = await pendingJob(db, { queue: 'second' });
  expect(await round()).toEqual({ taken: [job.id], claims: 2 });
  expect(supply.restMs(performance.now()), 'it may have more').toBe(0);
  // The one that was busy is asked less and less often, and falls in with the others.
  for (let rounds = 0; rounds < 9; rounds++) await round();
  const resting = [];
  for (let rounds = 0; rounds < 3; rounds++) {
    resting.push((await round()).claims);
    expect(supply.restMs(performance.now())).toBeGreaterThan(POLL_MS / 2);
  }
  expect(resting).toEqual([1, 1, 1]);
});
