import { aroundBlocked, type Patience } from './around-blocked.ts';
import { LATE_COMMIT_SECONDS } from './claim.ts';
import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import type { JobId } from './job.ts';
import { MARKED } from './marked.ts';
import type { Kinds, Position } from './marks.ts';
import { UNPAUSED } from './unpaused.ts';

/** Jobs of one priority that a call closes. */
const MOST = 100;

/*
 * What lies behind the marks of a claim that began at the beginning and is still pending was held by somebody. Paused kinds
 * were not asked for. coalesce keeps the planner from the index of all unique keys, in which next year's are, too.
 * `run_at`: where the next claims look, not behind a backlog. Suspects know no marks: of them, those that cannot be locked.
 */
const PASSED = `
WITH ${UNPAUSED},
suspects AS MATERIALIZED (
  SELECT i.id
  FROM millrace.live_jobs i
  WHERE i.status = 'pending' AND i.reaps >= 2
    AND i.queue = $1 AND i.run_at <= now() - make_interval(secs => $5)
    AND coalesce(i.unique_key, '') <> '' AND i.closed_at IS NULL
    AND array_position((SELECT l.kinds FROM lane l), i.kind) IS NOT NULL
  ORDER BY i.run_at
  LIMIT $4
),
free AS MATERIALIZED (
  SELECT i.id
  FROM millrace.live_jobs i
  WHERE i.id = ANY (ARRAY(SELECT s.id FROM suspects s))
  FOR UPDATE SKIP LOCKED
)
SELECT due.id,
       to_char(least(now(), p.mark + make_interval(secs => $5)) AT TIME ZONE 'UTC', ${ISO}) AS "runAt"
FROM lane l
CROSS JOIN ${MARKED}
CROSS JOIN LATERAL (
  SELECT i.id
  FROM millrace.live_jobs i
  WHERE i.status = 'pending' AND i.reaps < 2
    AND i.queue = $1 AND i.priority = p.priority AND i.run_at < p.mark
    AND coalesce(i.unique_key, '') <> '' AND i.closed_at IS NULL
    AND array_position(l.kinds, i.kind) IS NOT NULL
  ORDER BY i.run_at
  LIMIT $4
) due
UNION ALL
SELECT s.id, to_char(now() AT TIME ZONE 'UTC', ${ISO})
FROM suspects s
WHERE s.id NOT IN (SELECT f.id FROM free f)`;

// A claim may have taken it since, or an enqueue put it off.
const CLOSE = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', $3, true)
)
UPDATE millrace.live_jobs j
SET closed_at = clock_timestamp(),
    run_at = greatest(j.run_at, ($2::timestamptz[])[array_position($1::uuid[], j.id)])
WHERE j.id = ANY (ARRAY(SELECT i.id FROM patience CROSS JOIN unnest($1::uuid[]) i(id)))
  AND j.locked_by IS NULL AND j.closed_at IS NULL AND j.run_at <= now()
RETURNING j.id`;

interface Passed {
  readonly id: JobId;
  readonly runAt: string;
}

/**
 * Closes the jobs of unique keys that a claim has just passed over because enqueues hold them: a closed one stands for those
 * enqueues only, and the next one makes a new job. For an enqueue holds the job that it is kept behind until its transaction
 * ends, and where each takes hold before the last one has let go, no claim ever finds it free (eight producers with 20 ms
 * each: no run in 35 s, measured). Those that hold a closed one come to an end, and it is claimed.
 * The lock that it takes (NO KEY UPDATE) lets theirs be, so it waits for those alone who replace something in the job.
 *
 * @param marks of a claim that began at the beginning
 */
export async function closeHeld(db: Db, queue: string, kinds: Kinds, marks: Position['marks']): Promise<JobId[]> {
  const { rows } = await db.query<Passed>(PASSED, [queue, [...kinds.keys()], marks, MOST, LATE_COMMIT_SECONDS]);
  if (rows.length === 0) return [];
  return aroundBlocked<Passed, JobId>(
    rows,
    (some, patience) => close(db, some, patience),
    () => [],
  );
}

async function close(db: Db, jobs: readonly Passed[], patience: Patience): Promise<JobId[]> {
  const { rows } = await db.query<{ id: JobId }>(CLOSE, [
    jobs.map(({ id }) => id),
    jobs.map(({ runAt }) => runAt),
    patience,
  ]);
  return rows.map(({ id }) => id);
}
