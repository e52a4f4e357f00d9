import { type Claimed, type ClaimRequest, claimedOf, LATE_COMMIT_SECONDS, type Row } from './claim.ts';
import type { Db } from './db.ts';
import { RESCAN_SECONDS } from './marks.ts';

/** A queue to be asked. */
export type Lane = Pick<ClaimRequest, 'queue' | 'aged' | 'position'>;

const CLAIM_FIRST = `
SELECT *
FROM millrace.claim_first(
  token => $1,
  queues => $2,
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

/**
 * A claim from the first of these queues that has something due, in one statement with all that have not. Resolves what was found in
 * each that was asked, in their order: only the last one may have brought jobs.
 */
export async function claimFirst(
  db: Db,
  { token, lanes, limit, kinds, maxBytes }: Omit<ClaimRequest, keyof Lane> & { readonly lanes: readonly Lane[] },
): Promise<Claimed[]> {
  const { rows } = await db.query<Row & { readonly place: number }>(CLAIM_FIRST, [
    token,
    lanes.map(({ queue }) => queue),
    [...kinds.keys()],
    [...kinds.values()],
    limit,
    lanes.map(({ aged }) => Math.min(aged, limit)),
    maxBytes,
    lanes.flatMap(({ position }) => position.marks),
    lanes.map(({ position }) => position.rescannedAt),
    lanes.map(({ position }) => position.resumedAt),
    LATE_COMMIT_SECONDS,
    RESCAN_SECONDS,
  ]);
  const asked = lanes.slice(0, rows.at(-1)?.place);
  return asked.map((lane, at) =>
    claimedOf(
      rows.filter(({ place }) => place === at + 1),
      { token, ...lane },
    ),
  );
}
