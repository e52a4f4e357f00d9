import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import type { PauseScope } from './pause.ts';
import { COMMIT, type Seen, StateMarks } from './state-marks.ts';

export interface Readiness {
  /** Number of the newest migration that was applied. */
  readonly schemaVersion: number;
  /** Seconds since the oldest due job became due; 0 if none is. */
  readonly lagSeconds: number;
  readonly paused: readonly { readonly scope: PauseScope; readonly name: string }[];
  /**
   * Kinds with a due job that no worker of the last two minutes has: none at all, or none of those that serve the queue of
   * the oldest. At most 100, by name.
   */
  readonly unclaimedKinds: readonly string[];
  /** Queues with a pending job that no worker of the last two minutes serves, likewise. */
  readonly unclaimedQueues: readonly string[];
  /** When a worker last said that it is there, which it does each half minute; null: never. */
  readonly lastWorkerAt: string | null;
}

/** Comes with it for a metric; the API does not show it. */
export interface Unclaimed {
  /** How many kinds have an oldest due job that nobody claims, be it for its kind or for its queue. */
  readonly kindsUnclaimed: number;
}

// Kinds and queues are known by who claims them; what else waits is looked for between two of those: see stats.ts.
const READINESS = `
WITH RECURSIVE workers AS (
  SELECT queue, kinds
  FROM millrace.claim_marks
  WHERE rescanned_at > now() - interval '2 minutes'
),
known AS MATERIALIZED (
  SELECT ARRAY(SELECT DISTINCT k.kind FROM millrace.claim_marks, unnest(kinds) k(kind) ORDER BY k.kind) AS kinds
),
kinds AS (
  SELECT '' AS kind, 1 AS next, 0 AS n
  UNION ALL
  SELECT coalesce(between_two, known.kinds[k.next]), k.next + (between_two IS NULL)::int, k.n + 1
  FROM kinds k
  CROSS JOIN known
  CROSS JOIN LATERAL (
    SELECT CASE
      WHEN known.kinds[k.next] IS NULL THEN (
        SELECT j.kind
        FROM millrace.live_jobs j
        WHERE j.status = 'pending' AND j.kind > k.kind
        ORDER BY j.kind
        LIMIT 1
      )
      ELSE (
        SELECT j.kind
        FROM millrace.live_jobs j
        WHERE j.status = 'pending' AND j.kind > k.kind AND j.kind < known.kinds[k.next]
        ORDER BY j.kind
        LIMIT 1
      )
    END AS between_two
    OFFSET 0
  ) unknown
  WHERE k.kind IS NOT NULL AND k.n < 1000
),
marks AS (
  SELECT m.kind, m.run_at
  FROM unnest($2::text[], $3::timestamptz[]) m(kind, run_at)
  WHERE $1::timestamptz <= now()
),
oldest AS MATERIALIZED (
  SELECT k.kind, o.queue, o.run_at
  FROM kinds k
  LEFT JOIN marks m USING (kind)
  LEFT JOIN LATERAL millrace.first_pending(k.kind, coalesce(m.run_at, '-infinity'), 'infinity') o ON true
  WHERE k.kind <> ''
),
due AS (
  SELECT o.kind, o.queue, o.run_at
  FROM oldest o
  WHERE o.run_at <= now()
),
unclaimed AS (
  SELECT d.kind, d.queue
  FROM due d
  WHERE NOT EXISTS (SELECT FROM workers w WHERE w.queue = d.queue AND d.kind = ANY (w.kinds))
)
SELECT
  (SELECT max(version) FROM millrace.migrations) AS "schemaVersion",
  coalesce((SELECT extract(epoch FROM now() - min(run_at)) FROM due), 0)::float8 AS "lagSeconds",
  coalesce((
    SELECT jsonb_agg(jsonb_build_object('scope', scope, 'name', name) ORDER BY scope, name)
    FROM millrace.pauses
    WHERE resumed_at IS NULL
  ), '[]') AS paused,
  ARRAY(
    SELECT u.kind
    FROM unclaimed u
    WHERE u.queue IN (SELECT queue FROM workers) OR u.kind NOT IN (SELECT unnest(kinds) FROM workers)
    ORDER BY u.kind
    LIMIT 100
  ) AS "unclaimedKinds",
  (SELECT count(*)::int FROM unclaimed) AS "kindsUnclaimed",
  ARRAY(
    SELECT q.queue
    FROM millrace.unserved_queues(
      ARRAY(SELECT DISTINCT m.queue FROM millrace.claim_marks m ORDER BY m.queue),
      ARRAY(SELECT w.queue FROM workers w)
    ) q(queue)
    ORDER BY q.queue
    LIMIT 100
  ) AS "unclaimedQueues",
  (
    SELECT to_char(max(rescanned_at) AT TIME ZONE 'UTC', ${ISO})
    FROM millrace.claim_marks
  ) AS "lastWorkerAt",
  to_char(now() AT TIME ZONE 'UTC', ${ISO}) AS at,
  coalesce((SELECT jsonb_object_agg(o.kind, to_char((least(o.run_at, now()) - ${COMMIT}) AT TIME ZONE 'UTC', ${ISO})) FROM oldest o), '{}') AS pending`;

/**
 * What keeps jobs from being worked on, in one snapshot. Reads the first pending job of each kind, of at most 1,000.
 *
 * @param marks what earlier looks of this process have seen. Default: nothing (see stats.ts)
 */
export async function readiness(db: Db, marks = new StateMarks()): Promise<Readiness & Unclaimed> {
  await marks.lookBehind(db);
  const begun = marks.parameters();
  const [at, kinds, runAt] = begun;
  const { rows } = await db.query<Readiness & Unclaimed & Seen>(READINESS, [at, kinds, runAt]);
  const { at: seenAt, pending, ...state } = { at: '', pending: {}, ...rows[0] } as Readiness & Unclaimed & Seen;
  if (rows[0]) marks.saw({ at: seenAt, pending }, begun);
  return state;
}
