import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import { COMMIT, StateMarks } from './state-marks.ts';

export const COUNTED_EVENTS = [
  'enqueued',
  'completed',
  'retried',
  'buried',
  'released',
  'cancelled',
  'reaped',
  'redriven',
] as const;
export type CountedEvent = (typeof COUNTED_EVENTS)[number];

export interface KindStats {
  readonly kind: string;
  readonly pending: number;
  readonly processing: number;
  /** Counted up to 1,000: the table keeps a month, and is not to be walked for this. */
  readonly dead: number;
  /** Seconds since the oldest due job became due; 0 if none is. */
  readonly oldestDueSeconds: number;
  /** Since the queue was made; retention does not lower them. */
  readonly totals: Readonly<Record<CountedEvent, number>>;
}

export interface Stats {
  /** By name; the first 1,000. */
  readonly kinds: readonly KindStats[];
  /** There are kinds beyond these. */
  readonly truncated: boolean;
}

const MAX_KINDS = 1000;
const MAX_DEAD_COUNTED = 1000;

// Kinds are known by their counters. What else is live is looked for between two of them, in ranges of the index in which
// nothing lies as a rule: from kind to kind it would walk each one's dead entries, which a pinned horizon keeps by the million.
// OFFSET 0 keeps the planner from looking twice. Dead jobs are counted along the one index that gives their order, which is why
// their kind is compared by `= ANY`: see migrations/0010.
const STATS = `
WITH RECURSIVE totals AS (
  SELECT kind, event, sum(n)::float8 AS n
  FROM (
    SELECT kind, event, total AS n FROM millrace.counters
    UNION ALL
    SELECT kind, event, n FROM millrace.counter_deltas
  ) both_tables
  GROUP BY kind, event
),
known AS MATERIALIZED (
  SELECT coalesce(array_agg(kind ORDER BY kind), '{}') AS kinds
  FROM (SELECT DISTINCT kind FROM totals) counted
),
kinds AS (
  SELECT '' AS kind, 1 AS next, 0 AS n
  UNION ALL
  SELECT coalesce(between_two, known.kinds[k.next]), k.next + (between_two IS NULL)::int, k.n + 1
  FROM kinds k
  CROSS JOIN known
  CROSS JOIN LATERAL (
    SELECT CASE
      WHEN known.kinds[k.next] IS NULL THEN (SELECT kind FROM millrace.live_jobs WHERE kind > k.kind ORDER BY kind LIMIT 1)
      ELSE (
        SELECT kind
        FROM millrace.live_jobs
        WHERE kind > k.kind AND kind < known.kinds[k.next]
        ORDER BY kind
        LIMIT 1
      )
    END AS between_two
    OFFSET 0
  ) unknown
  WHERE k.kind IS NOT NULL AND k.n <= $1
),
marks AS (
  SELECT m.kind, m.run_at
  FROM unnest($4::text[], $5::timestamptz[]) m(kind, run_at)
  WHERE $3::timestamptz <= now()
),
running AS MATERIALIZED (
  SELECT j.kind, count(*)::int AS n, min(j.locked_until) AS first
  FROM millrace.live_jobs j
  WHERE j.status = 'processing'
    AND j.locked_until >= CASE WHEN $3::timestamptz <= now() THEN coalesce($6::timestamptz, '-infinity') ELSE '-infinity' END
  GROUP BY j.kind
)
SELECT
  kinds.kind,
  counted.totals,
  coalesce(running.n, 0) AS processing,
  (
    SELECT count(*)::int
    FROM (
      SELECT
      FROM millrace.dead_jobs d
      WHERE d.kind = ANY (ARRAY[kinds.kind])
      ORDER BY d.kind, d.id
      LIMIT $2
    ) of_kind
  ) AS dead,
  coalesce(greatest(0, extract(epoch FROM now() - oldest.run_at)), 0)::float8 AS oldest_due_seconds,
  to_char((least(oldest.run_at, now()) - ${COMMIT}) AT TIME ZONE 'UTC', ${ISO}) AS pending_mark,
  to_char((least((SELECT min(first) FROM running), now()) - ${COMMIT}) AT TIME ZONE 'UTC', ${ISO}) AS lease_mark,
  to_char(now() AT TIME ZONE 'UTC', ${ISO}) AS seen_at
FROM kinds
LEFT JOIN (SELECT kind, jsonb_object_agg(event, n) AS totals FROM totals GROUP BY kind) counted USING (kind)
LEFT JOIN running USING (kind)
LEFT JOIN marks USING (kind)
LEFT JOIN LATERAL millrace.first_pending(kinds.kind, coalesce(marks.run_at, '-infinity'), 'infinity') oldest ON true
WHERE kinds.kind <> ''
ORDER BY kinds.kind`;

/**
 * Depth and age by kind, in one snapshot. Finished rows are not read, and of pending ones only the first of each kind:
 * what was put in and has not left is pending or processing, and the running ones are few.
 *
 * @param marks what earlier looks of this process have seen. Default: nothing, and then it walks, while a transaction that stays
 *   open keeps vacuum away, what has flowed past since: 1 to 1.5 ms for each 1,000 jobs (measured on two busy cores)
 */
export async function stats(db: Db, marks = new StateMarks()): Promise<Stats> {
  await marks.lookBehind(db);
  const begun = marks.parameters();
  const { rows } = await db.query<StatsRow>(STATS, [MAX_KINDS, MAX_DEAD_COUNTED, ...begun]);
  const [first] = rows;
  if (first) {
    const pending = Object.fromEntries(rows.map(({ kind, pending_mark }) => [kind, pending_mark]));
    marks.saw({ at: first.seen_at, pending, leases: first.lease_mark }, begun);
  }
  return { kinds: rows.slice(0, MAX_KINDS).map(kindStats), truncated: rows.length > MAX_KINDS };
}

interface StatsRow {
  kind: string;
  totals: Partial<Record<CountedEvent, number>> | null;
  processing: number;
  dead: number;
  oldest_due_seconds: number;
  pending_mark: string | null;
  lease_mark: string | null;
  seen_at: string;
}

function kindStats({ kind, totals: counted, processing, dead, oldest_due_seconds }: StatsRow): KindStats {
  const totals = Object.fromEntries(COUNTED_EVENTS.map((event) => [event, counted?.[event] ?? 0])) as Record<
    CountedEvent,
    number
  >;
  const live = totals.enqueued + totals.redriven - totals.completed - totals.cancelled - totals.buried;
  return {
    kind,
    pending: Math.max(0, live - processing),
    processing,
    dead,
    oldestDueSeconds: oldest_due_seconds,
    totals,
  };
}
