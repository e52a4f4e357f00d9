import { randomUUID } from 'node:crypto';
import { type Claimed, type ClaimRequest, claim } from '../../functions/queue/claim.ts';
import type { Db } from '../../functions/queue/db.ts';
import type { ClaimedJob } from '../../functions/queue/job.ts';
import { type Kinds, openPosition } from '../../functions/queue/marks.ts';
import type { QueueCursor } from '../../functions/queue/queue-cursor.ts';

/** The kind that factories make, with half a minute of lease. */
export const KINDS: Kinds = new Map([['test.kind', 30]]);

/** A claim with what a test does not care about filled in: ten rows at most, none by age, from wherever others have got to. */
export async function claimSome(db: Db, over: Partial<ClaimRequest> = {}): Promise<Claimed & { token: string }> {
  const { queue = 'default', kinds = KINDS, token = randomUUID() } = over;
  const position = over.position ?? (await openPosition(db, queue, kinds));
  const claimed = await claim(db, { limit: 10, aged: 0, maxBytes: 4_000_000, ...over, token, queue, kinds, position });
  return { ...claimed, token };
}

export async function claimedIds(db: Db, over: Partial<ClaimRequest> = {}): Promise<string[]> {
  return (await claimSome(db, over)).jobs.map((job) => job.id);
}

/** A claim from where the cursor is, as a run makes it; without the `publish` that follows. */
export async function claimAt(
  cursor: QueueCursor,
  db: Db,
  { token = randomUUID(), limit = 10, kinds = KINDS }: { token?: string; limit?: number; kinds?: Kinds } = {},
): Promise<ClaimedJob[]> {
  const of = { limit, kinds };
  const claimed = await claim(db, { ...of, ...(await cursor.lane(db, of)), token, maxBytes: 4_000_000 });
  cursor.saw(claimed, of);
  return claimed.jobs;
}
