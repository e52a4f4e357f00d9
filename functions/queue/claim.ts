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
}

/** How long after its `run_at` a transaction may commit and still be found at the next claim. Later ones wait for a rescan. */
export const LATE_COMMIT_SECONDS = 2;

/** The statement is kept in the database, which keeps its plan: migrations/0008 and docs/decisions/0005. */
const CLAIM = `
SELECT *
FROM millrace.claim(
  token => $1,
  queue => $2,
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
  const { rows } = await db.query<Row>(CLAIM, [
    token,
    queue,
    [...kinds.keys()],
    [...kinds.values()],
    limit,
    Math.min(request.aged, limit),
    request.maxBytes,
    position.marks,
    position.rescannedAt,
    position.resumedAt,
    LATE_COMMIT_SECONDS,
    RESCAN_SECONDS,
  ]);
  return claimedOf(rows, { token, queue, position });
}

/** What the rows of a claim say; there is one at least. */
export function claimedOf(
  rows: readonly Row[],
  { token, queue, position }: Pick<ClaimRequest, 'token' | 'queue' | 'position'>,
): Claimed {
  const header = rows[0] as Row;
  const taken = rows.filter((row): row is Row & ClaimedRow => row.id !== null);
  const jobs = taken.map((row) => claimedJob(row, token, queue)).sort(inClaimOrder);
  return {
    jobs,
    position: advance(position, sightOf(header, taken)),
    suspectDue: header.suspect_due,
    rescanDue: header.rescan_due,
  };
}

function sightOf(header: Header, taken: readonly (Row & ClaimedRow)[]): Sight {
  const leftOut = header.left_out ?? [];
  const picked = [
    ...taken.map(({ priority, run_at, is_aged }) => ({ priority, runAt: run_at, aged: is_aged })),
    ...leftOut,
  ];
  return {
    seenUntil: header.seen_until,
    lookedBack: header.looked_back,
    resumedAt: header.resumed_until,
    exhausted: header.exhausted,
    urgent: picked.filter((spot) => !spot.aged),
    nextHeads: header.next_heads ?? [],
    leftOut,
  };
}

/** UPDATE … RETURNING keeps no order. */
function inClaimOrder(a: ClaimedJob, b: ClaimedJob): number {
  return b.priority - a.priority || (a.runAt < b.runAt ? -1 : a.runAt > b.runAt ? 1 : 0);
}
