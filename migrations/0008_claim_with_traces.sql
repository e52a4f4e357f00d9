-- Why: a claim also tells which request put the job in, so that each attempt can log it.
-- Locks: replaces a function. A claim waits for nothing; one that looked the function up in the moment of the commit fails with
-- "cache lookup failed" (XX000) and is repeated by its worker.

-- Postgres does not let CREATE OR REPLACE add a column to what a function returns.
DROP FUNCTION millrace.claim(
  uuid, text, text[], float8[], int, int, bigint, timestamptz[], timestamptz, timestamptz, float8, float8
);

/*
 * Takes due jobs of these kinds: see functions/queue/claim.ts. One row at least, whose `id` is NULL when nothing was due.
 * One probe of the claim index for each priority, from its mark on. What keeps it O(batch) with any statistics:
 * - ORDER BY and LIMIT inside each probe: a plan that has to sort never looks cheaper than the index
 * - kinds by array_position, which no index answers: `= ANY` would offer the planner an index on kind
 * - rows are found again by `id = ANY (ARRAY(…))`, which is guessed as ten rows: a join becomes a hash of whole tables
 * - `locked_by IS NULL` where `status = 'pending'` would offer a partial index
 * - payloads by a function: see docs/decisions/0004, which is about more than speed
 * The oldest come first: heads of all priorities are read without a lock, and only those chosen are locked.
 * A suspect that somebody holds is not due: whoever hears of one lets all else come to an end first, and would not get it.
 * One plan for all values, since the shape is pinned; no JIT, which would compile it anew at each call.
 * Changed by more columns at the end, else only by a new function of another name: workers of the release before call this
 * one with the same arguments, and read its columns by name.
 */
CREATE FUNCTION millrace.claim(
  token uuid,
  queue text,
  kinds text[],
  lease_seconds float8[],
  wanted int,
  aged int,
  max_bytes bigint,
  marks timestamptz[],
  rescanned_at timestamptz,
  resumed_at timestamptz,
  grace_seconds float8,
  rescan_seconds float8
) RETURNS TABLE (
  seen_until text,
  rescan_due boolean,
  looked_back boolean,
  resumed_until text,
  exhausted boolean,
  suspect_due boolean,
  next_heads jsonb,
  left_out jsonb,
  id uuid,
  kind text,
  priority smallint,
  subject text,
  attempts int,
  max_attempts int,
  reaps int,
  run_at text,
  created_at text,
  waited_ms float8,
  is_aged boolean,
  payload jsonb,
  request_id text,
  traceparent text
)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH lane AS MATERIALIZED (
      SELECT ARRAY(
               SELECT k.kind
               FROM unnest(claim.kinds) k(kind)
               WHERE NOT EXISTS (
                 SELECT
                 FROM millrace.pauses p
                 WHERE p.resumed_at IS NULL AND (p.scope, p.name) IN (('kind', k.kind), ('queue', claim.queue)))
             ) AS kinds,
             (
               SELECT max(p.resumed_at)
               FROM millrace.pauses p
               WHERE (p.scope = 'queue' AND p.name = claim.queue) OR (p.scope = 'kind' AND p.name = ANY (claim.kinds))
             ) AS resumed_at
    ),
    sight AS MATERIALIZED (
      SELECT l.kinds,
             CASE WHEN l.kinds = '{}' THEN 0 ELSE claim.wanted END AS wanted,
             coalesce(
               l.resumed_at > coalesce(claim.resumed_at, claim.rescanned_at - make_interval(secs => claim.grace_seconds)),
               false
             ) AS looked_back,
             greatest(l.resumed_at, claim.resumed_at) AS resumed_at
      FROM lane l
    ),
    probes AS MATERIALIZED (
      SELECT p.priority, s.kinds, s.wanted,
             -- least: should the clock have been set back, what comes in from now on is found all the same.
             CASE
               WHEN s.looked_back OR p.mark IS NULL THEN '-infinity'
               ELSE least(p.mark, now() - make_interval(secs => claim.grace_seconds))
             END AS mark
      FROM sight s
      CROSS JOIN unnest('{5,4,3,2,1,0,-1,-2,-3,-4,-5}'::smallint[], claim.marks) p(priority, mark)
    ),
    suspect AS MATERIALIZED (
      SELECT i.id
      FROM millrace.live_jobs i
      WHERE i.status = 'pending' AND i.reaps >= 2
        AND i.queue = claim.queue AND i.run_at <= now()
        AND array_position((SELECT s.kinds FROM sight s), i.kind) IS NOT NULL
      ORDER BY i.run_at
      LIMIT 1
      FOR UPDATE SKIP LOCKED
    ),
    heads AS MATERIALIZED (
      SELECT p.priority, h.id, h.run_at, row_number() OVER (ORDER BY h.run_at) <= claim.aged AS chosen
      FROM probes p
      CROSS JOIN LATERAL (
        SELECT i.id, i.run_at
        FROM millrace.live_jobs i
        WHERE i.status = 'pending' AND i.reaps < 2
          AND i.queue = claim.queue AND i.priority = p.priority AND i.run_at <= now() AND i.run_at >= p.mark
          AND array_position(p.kinds, i.kind) IS NOT NULL
        ORDER BY i.run_at
        LIMIT least(p.wanted, claim.aged)
      ) h
    ),
    oldest AS MATERIALIZED (
      SELECT j.id, j.priority, j.run_at, j.payload_bytes
      FROM millrace.live_jobs j
      WHERE j.id = ANY (ARRAY(SELECT h.id FROM heads h WHERE h.chosen))
        AND j.locked_by IS NULL AND j.run_at <= now()
      FOR UPDATE SKIP LOCKED
    ),
    urgent AS MATERIALIZED (
      SELECT due.id, due.priority, due.run_at, due.payload_bytes
      FROM probes p
      CROSS JOIN LATERAL (
        SELECT i.id, i.priority, i.run_at, i.payload_bytes
        FROM millrace.live_jobs i
        WHERE i.status = 'pending' AND i.reaps < 2
          AND i.queue = claim.queue AND i.priority = p.priority AND i.run_at <= now() AND i.run_at >= p.mark
          AND array_position(p.kinds, i.kind) IS NOT NULL
          AND i.id <> ALL (ARRAY(SELECT o.id FROM oldest o))
        ORDER BY i.run_at
        LIMIT p.wanted
        FOR UPDATE SKIP LOCKED
      ) due
      LIMIT claim.wanted - (SELECT count(*) FROM oldest)
    ),
    weighed AS MATERIALIZED (
      SELECT c.id, c.part, c.priority, c.run_at,
             row_number() OVER taken = 1 OR sum(c.payload_bytes) OVER taken <= claim.max_bytes AS fits
      FROM (
        SELECT o.*, 0 AS part FROM oldest o
        UNION ALL
        SELECT u.*, 1 FROM urgent u
      ) c
      WINDOW taken AS (ORDER BY c.part, c.part * c.priority DESC, c.run_at, c.id ROWS UNBOUNDED PRECEDING)
    ),
    claimed AS (
      UPDATE millrace.live_jobs j
      SET status = 'processing',
          attempts = j.attempts + 1,
          locked_by = claim.token,
          locked_until = clock_timestamp()
            + make_interval(secs => (claim.lease_seconds)[array_position(claim.kinds, j.kind)]),
          started_at = clock_timestamp()
      WHERE j.id = ANY (ARRAY(SELECT w.id FROM weighed w WHERE w.fits))
      RETURNING j.*
    )
    SELECT to_char((now() - make_interval(secs => claim.grace_seconds)) AT TIME ZONE 'UTC',
                   'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS seen_until,
           now() >= claim.rescanned_at + make_interval(secs => claim.rescan_seconds)
             OR now() < claim.rescanned_at - make_interval(secs => claim.rescan_seconds) AS rescan_due,
           s.looked_back,
           to_char(s.resumed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS resumed_at,
           (SELECT count(*) FROM weighed) < s.wanted AS exhausted,
           EXISTS (SELECT FROM suspect) AS suspect_due,
           (
             SELECT jsonb_agg(jsonb_build_object(
               'priority', n.priority,
               'runAt', to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
             FROM (
               SELECT p.priority,
                      coalesce(
                        min(h.run_at) FILTER (WHERE NOT h.chosen),
                        CASE WHEN count(h.id) < claim.aged THEN now() ELSE max(h.run_at) END
                      ) AS run_at
               FROM probes p
               LEFT JOIN heads h ON h.priority = p.priority
               WHERE p.wanted > 0 AND claim.aged > 0
               GROUP BY p.priority
             ) n
           ) AS next_heads,
           (
             SELECT jsonb_agg(jsonb_build_object(
               'priority', n.priority,
               'aged', n.part = 0,
               'runAt', to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
             FROM (
               SELECT w.priority, w.part, min(w.run_at) AS run_at
               FROM weighed w
               WHERE NOT w.fits
               GROUP BY w.priority, w.part
             ) n
           ) AS left_out,
           c.id, c.kind, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps,
           to_char(c.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS run_at,
           to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
           (extract(epoch FROM c.started_at - c.run_at) * 1000)::float8 AS waited_ms,
           c.id IN (SELECT o.id FROM oldest o) AS aged,
           p.payload,
           c.request_id,
           c.traceparent
    FROM sight s
    LEFT JOIN claimed c ON true
    LEFT JOIN millrace.payloads_of(ARRAY(SELECT c.id FROM claimed c)) p ON p.id = c.id;
END
$$;
