import { advance, type Sight, type Spot } from './advance.ts';
import type { Db } from './db.ts';
import { type ClaimedJob, type ClaimedRow, claimedJob } from './job.ts';
import { type Kinds, type Position, RESCAN_SECONDS } from './marks.ts';

export interface ClaimRequest {
  /** Fresh random UUID. Known before the statement is sent, so that a claim whose answer was lost can be released by it. */
  readonly token: string;
  readonly queue: string;
  /** Rows at most, 1 or more. */
  readonly limit: number;
  /** How many of them go to the oldest due whatever their priority, so that nothing starves. */
  readonly aged: number;
  readonly kinds: Kinds;
  readonly position: Position;
  /**
   * The last claim that looked back was a moment ago (LOOK_BACK_MS): this one begins where the one before it came to, less
   * SOON_COMMIT_SECONDS. It may miss what commits later than that, and rows that somebody held. Default false.
   */
  readonly soon?: boolean;
  /** Sum of payload bytes at most. The first row comes however heavy it is. */
  readonly maxBytes: number;
}

export interface Claimed {
  /** Priority descending, then `run_at`. */
  readonly jobs: ClaimedJob[];
  /** For the next claim. */
  readonly position: Position;
  /** A job that was reaped twice is due: see `claimSuspect`. */
  readonly suspectDue: boolean;
  /** The last rescan lies half a minute away: `rescan` before the next claim, `publish` after it. */
  readonly rescanDue: boolean;
  /** It began at the near marks, and so did not look back over the grace. */
  readonly near: boolean;
}

/** How long after its `run_at` a transaction may commit and still be found by a claim that looks back. Later ones wait for a rescan. */
export const LATE_COMMIT_SECONDS = 2;

/** The same for a claim that comes soon after another: most transactions that put jobs in commit within milliseconds. */
export const SOON_COMMIT_SECONDS = 0.1;

/**
 * A busy queue looks back over the whole grace so often, and not at each claim. While something keeps vacuum away, all that was
 * put in and done in those two seconds lies there dead, and each claim would walk past it: at 2,000 jobs/s 8,002 index entries
 * in place of 42, and a p50 of 2.2 ms in place of 1.4 (measured).
 */
export const LOOK_BACK_MS = 100;

/** Fixed text: what claim and claim_first are given but for the queues. */
export const CLAIM_ARGUMENTS = `
  token => $1,
  kinds => $3,
  lease_seconds => $4,
  wanted => $5,
  aged => $6,
  max_bytes => $7,
  marks => $8,
  rescanned_at => $9,
  resumed_at => $10,
  grace_seconds => $11,
  rescan_seconds => $12
)`;

/** The statement is kept in the database, which keeps its plan: migrations/0017 and docs/decisions/0005. */
const CLAIM = `
SELECT *
FROM millrace.claim(
  queue => $2,${CLAIM_ARGUMENTS}`;

interface Header {
  readonly seen_until: string;
  readonly rescan_due: boolean;
  readonly looked_back: boolean;
  readonly resumed_until: string | null;
  readonly exhausted: boolean;
  readonly suspect_due: boolean;
  /** Where the heads that were not taken begin, of each priority. */
  readonly next_heads: Spot[] | null;
  /** The first of each priority and part. */
  readonly left_out: (Spot & { readonly aged: boolean })[] | null;
}

export type Row = Header & (ClaimedRow | { readonly id: null }) & { readonly is_aged: boolean | null };

/**
 * Takes due jobs of these kinds: the urgent first, `aged` of them the oldest. An attempt counts from here on. Rows that
 * somebody else holds at the moment are passed over; a rescan finds them if they come back. Costs O(limit), unless it
 * looks back: the first one, the first after a rescan, and the first after a resume.
 */
export async function claim(db: Db, request: ClaimRequest): Promise<Claimed> {
  const { token, queue, limit, kinds, position } = request;
  const from = startOf(request);
  const { rows } = await db.query<Row>(CLAIM, [
    token,
    queue,
    [...kinds.keys()],
    [...kinds.values()],
    limit,
    Math.min(request.aged, limit),
    request.maxBytes,
    [...from.marks, position.suspectMark],
    position.rescannedAt,
    position.resumedAt,
    from.graceSeconds,
    RESCAN_SECONDS,
  ]);
  return claimedOf(rows, { token, queue, position, near: from.near });
}

/** Where a claim begins, and how far before that it looks for what has committed late. */
export function startOf({ soon = false, position }: Pick<ClaimRequest, 'soon' | 'position'>) {
  if (soon && position.near) return { near: true, marks: position.near, graceSeconds: SOON_COMMIT_SECONDS };
  return { near: false, marks: position.marks, graceSeconds: LATE_COMMIT_SECONDS };
}

/** What the rows of a claim say; there is one at least. */
export function claimedOf(
  rows: readonly Row[],
  { token, queue, position, near }: Pick<ClaimRequest, 'token' | 'queue' | 'position'> & { readonly near: boolean },
): Claimed {
  const header = rows[0] as Row;
  const jobs: ClaimedJob[] = [];
  const urgent: Spot[] = [];
  for (const row of rows) {
    if (row.id === null) continue;
    const job = claimedJob(row, token, queue);
    jobs.push(job);
    if (!row.is_aged) urgent.push(job);
  }
  return {
    jobs: jobs.sort(inClaimOrder),
    position: advance(position, sightOf(header, urgent, near)),
    suspectDue: header.suspect_due,
    rescanDue: header.rescan_due,
    near,
  };
}

function sightOf(header: Header, urgent: readonly Spot[], near: boolean): Sight {
  const leftOut = header.left_out ?? [];
  return {
    near,
    nearUntil: near ? header.seen_until : shifted(header.seen_until, LATE_COMMIT_SECONDS - SOON_COMMIT_SECONDS),
    seenUntil: near ? shifted(header.seen_until, SOON_COMMIT_SECONDS - LATE_COMMIT_SECONDS) : header.seen_until,
    lookedBack: header.looked_back,
    resumedAt: header.resumed_until,
    suspectDue: header.suspect_due,
    exhausted: header.exhausted,
    urgent: [...urgent, ...leftOut.filter((spot) => !spot.aged)],
    nextHeads: header.next_heads ?? [],
    leftOut,
  };
}

/** UPDATE … RETURNING keeps no order. */
function inClaimOrder(a: ClaimedJob, b: ClaimedJob): number {
  return b.priority - a.priority || (a.runAt < b.runAt ? -1 : a.runAt > b.runAt ? 1 : 0);
}

/** To the millisecond that lies before. */
function shifted(time: string, seconds: number): string {
  return new Date(Date.parse(time) + seconds * 1000).toISOString().replace('Z', '000Z');
}
