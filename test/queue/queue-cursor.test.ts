import type { Db } from '../../functions/queue/db.ts';
import { QueueCursor } from '../../functions/queue/queue-cursor.ts';
import { pendingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
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
