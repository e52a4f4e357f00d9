import type { Db } from './db.ts';

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

const STATS = `
WITH RECURSIVE live_kinds AS (
  (SELECT kind, 1 AS n FROM millrace.live_jobs ORDER BY kind LIMIT 1)
  UNION ALL
  SELECT (SELECT kind FROM millrace.live_jobs WHERE kind > k.kind ORDER BY kind LIMIT 1), n + 1
  FROM live_kinds k
  WHERE k.kind IS NOT NULL AND n <= $1
),
totals AS (
  SELECT kind, event, sum(n)::float8 AS n
  FROM (
    SELECT kind, event, total AS n FROM millrace.counters
    UNION ALL
    SELECT kind, event, n FROM millrace.counter_deltas
  ) both_tables
  GROUP BY kind, event
),
kinds AS (
  SELECT kind FROM live_kinds WHERE kind IS NOT NULL
  UNION
  SELECT kind FROM totals
  ORDER BY kind
  LIMIT $1 + 1
)
SELECT
  kinds.kind,
  counted.totals,
  (
    SELECT count(*)::int
    FROM millrace.live_jobs j
    WHERE j.kind = kinds.kind AND j.status = 'processing'
  ) AS processing,
  (
    SELECT count(*)::int
    FROM (
      SELECT d.kind
      FROM millrace.dead_jobs d
      WHERE (d.kind, d.id) >= (kinds.kind, '00000000-0000-0000-0000-000000000000')
      ORDER BY d.kind, d.id
      LIMIT $2
    ) following
    WHERE following.kind = kinds.kind
  ) AS dead,
  coalesce((
    SELECT greatest(0, extract(epoch FROM now() - j.run_at))::float8
    FROM millrace.live_jobs j
    WHERE j.kind = kinds.kind AND j.status = 'pending'
    ORDER BY j.run_at
    LIMIT 1
  ), 0) AS oldest_due_seconds
FROM kinds
LEFT JOIN (SELECT kind, jsonb_object_agg(event, n) AS totals FROM totals GROUP BY kind) counted USING (kind)
ORDER BY kinds.kind`;

/**
 * Depth and age by kind, in one snapshot. Finished rows are not read, and of pending ones only the first of each kind:
 * what was put in and has not left is pending or processing, and the running ones are few.
 */
export async function stats(db: Db): Promise<Stats> {
  const { rows } = await db.query<StatsRow>(STATS, [MAX_KINDS, MAX_DEAD_COUNTED]);
  return { kinds: rows.slice(0, MAX_KINDS).map(kindStats), truncated: rows.length > MAX_KINDS };
}

interface StatsRow {
  kind: string;
  totals: Partial<Record<CountedEvent, number>> | null;
  processing: number;
  dead: number;
  oldest_due_seconds: number;
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
