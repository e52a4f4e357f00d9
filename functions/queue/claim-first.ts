import { CLAIM_ARGUMENTS, type Claimed, type ClaimRequest, claimedOf, type Row, startOf } from './claim.ts';
import type { Db } from './db.ts';
import { RESCAN_SECONDS } from './marks.ts';

/** A queue to be asked. */
export type Lane = Pick<ClaimRequest, 'queue' | 'aged' | 'position' | 'soon'>;

const CLAIM_FIRST = `
SELECT *
FROM millrace.claim_first(
  queues => $2,${CLAIM_ARGUMENTS}`;

/**
 * A claim from the first of these queues that has something due, in one statement with all that have not. Resolves what was found in
 * each that was asked, in their order: only the last one may have brought jobs.
 */
export async function claimFirst(
  db: Db,
  { token, lanes, limit, kinds, maxBytes }: Omit<ClaimRequest, keyof Lane> & { readonly lanes: readonly Lane[] },
): Promise<Claimed[]> {
  // One looks back, all do: the grace is the same for all.
  const soon = lanes.every((lane) => lane.soon && lane.position.near);
  const from = lanes.map(({ position }) => startOf({ position, soon }));
  const { rows } = await db.query<Row & { readonly place: number }>(CLAIM_FIRST, [
    token,
    lanes.map(({ queue }) => queue),
    [...kinds.keys()],
    [...kinds.values()],
    limit,
    lanes.map(({ aged }) => Math.min(aged, limit)),
    maxBytes,
    lanes.flatMap(({ position }, at) => [...(from[at]?.marks ?? []), position.suspectMark]),
    lanes.map(({ position }) => position.rescannedAt),
    lanes.map(({ position }) => position.resumedAt),
    from[0]?.graceSeconds,
    RESCAN_SECONDS,
  ]);
  const asked = lanes.slice(0, rows.at(-1)?.place);
  return asked.map((lane, at) =>
    claimedOf(
      rows.filter(({ place }) => place === at + 1),
      { token, ...lane, near: soon },
    ),
  );
}
