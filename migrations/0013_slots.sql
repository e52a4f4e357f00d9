-- Why: which run has which of a worker's slots, and whether anybody claims for it now: a start decides by it whether it is needed,
-- and who puts a job in whether to start one. And a run that serves many queues asks all of them in one statement.
-- Locks: none on tables but those it makes; replaces no function, and alters what two are planned with.

-- A row for each slot of a worker that a run has ever had. The holder is whoever's token it is: another one relieves it.
CREATE TABLE millrace.slots (
  -- Name of the function.
  worker text NOT NULL,
  slot int NOT NULL CHECK (slot >= 0),
  token uuid NOT NULL,
  started_at timestamptz NOT NULL,
  -- It claims until then, unless it says so again; lies behind when it has left.
  present_until timestamptz NOT NULL,
  -- Seconds for which a job took a place of the run, as the last ones did. NULL: none was seen yet.
  job_seconds float8 CHECK (job_seconds >= 0),
  PRIMARY KEY (worker, slot)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);

-- When somebody last set out to start a worker.
CREATE TABLE millrace.wakes (
  worker text PRIMARY KEY,
  woken_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);

-- Which of these workers the caller is to start now: nobody claims for them, and nobody has set out to start them within two
-- seconds, or somebody's presence has ended since: whoever was started may have found that one there, and left. Of any number that
-- ask at once, one is answered with a name. To be called after the commit of what made a job due, in a statement of its own:
-- functions/queue/presence.ts says why that order leaves no job to the tick.
-- What lies ahead by more than it can was written before the server's clock was set back. A row that somebody holds is passed over:
-- a transaction that stays open makes no enqueue wait.
CREATE FUNCTION millrace.take_wakes(workers text[]) RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT SET search_path = pg_catalog, pg_temp
AS $$
  WITH absent AS (
    SELECT a.worker,
           coalesce(max(s.present_until) FILTER (WHERE s.present_until <= clock_timestamp()), '-infinity') AS left_at
    FROM (SELECT DISTINCT u.worker FROM unnest(workers) u(worker)) a
    LEFT JOIN millrace.slots s ON s.worker = a.worker
    GROUP BY a.worker
    HAVING coalesce(bool_and(
      s.present_until <= clock_timestamp() OR s.present_until > clock_timestamp() + interval '10 seconds'), true)
  ),
  first AS (
    INSERT INTO millrace.wakes (worker, woken_at)
    SELECT a.worker, clock_timestamp()
    FROM absent a
    WHERE NOT EXISTS (SELECT FROM millrace.wakes w WHERE w.worker = a.worker)
    ORDER BY a.worker
    ON CONFLICT DO NOTHING
    RETURNING worker
  ),
  spent AS (
    SELECT w.worker
    FROM millrace.wakes w
    JOIN absent a ON a.worker = w.worker
    WHERE w.woken_at NOT BETWEEN greatest(a.left_at, clock_timestamp() - interval '2 seconds') AND clock_timestamp()
    FOR NO KEY UPDATE OF w SKIP LOCKED
  ),
  again AS (
    UPDATE millrace.wakes w
    SET woken_at = clock_timestamp()
    WHERE w.worker = ANY (ARRAY(SELECT s.worker FROM spent s))
    RETURNING w.worker
  )
  SELECT f.worker FROM first f
  UNION ALL
  SELECT a.worker FROM again a
$$;

/*
 * What a start finds: functions/queue/see-start.ts. Rows are counted only as far as they matter to what it decides
 * (rowsThatMatter in start.ts has the same formula), and from where claims have seen, as a claim does: what is dead, or of kinds that
 * this worker lacks, costs nothing. Where a claim would look back, so does this: nobody else might until the next tick.
 * The first slot takes the rescan that is due, as a claim does (functions/queue/marks.ts): the marks say who has looked, also where
 * nothing is ever due.
 * One plan for all values, as in 0008, which says what pins its shape. It is made in an idle queue as often as not, and used in a
 * burst: neither may the empty table's seq scan look cheap, nor sorting it.
 */
CREATE FUNCTION millrace.see_start(
  worker text,
  slot int,
  queues text[],
  kinds text[],
  kinds_hash uuid,
  places float8,
  goal_seconds float8,
  unknown_job_seconds float8,
  count_limit int,
  grace_seconds float8,
  rescan_seconds float8
) RETURNS TABLE (
  token uuid,
  present boolean,
  age_seconds float8,
  job_seconds float8,
  due int,
  in_flight int
)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_sort = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH seen AS MATERIALIZED (
      SELECT (
               SELECT s.job_seconds
               FROM millrace.slots s
               WHERE s.worker = see_start.worker AND s.job_seconds IS NOT NULL
               ORDER BY s.started_at DESC
               LIMIT 1
             ) AS job_seconds
    ),
    matter AS MATERIALIZED (
      SELECT CASE see_start.slot
               WHEN 0 THEN 1
               ELSE least(
                 see_start.count_limit,
                 ceil(see_start.places / least(
                   1, greatest(coalesce(s.job_seconds, see_start.unknown_job_seconds), 1e-4) / see_start.goal_seconds)) + 1)
             END::int AS rows
      FROM seen s
    ),
    lanes AS MATERIALIZED (
      SELECT q.queue,
             ARRAY(
               SELECT k.kind
               FROM unnest(see_start.kinds) k(kind)
               WHERE NOT EXISTS (
                 SELECT
                 FROM millrace.pauses p
                 WHERE p.resumed_at IS NULL AND (p.scope, p.name) IN (('kind', k.kind), ('queue', q.queue)))
             ) AS kinds,
             coalesce(
               m.rescanned_at <= now() - make_interval(secs => see_start.rescan_seconds)
                 OR m.rescanned_at > now() + make_interval(secs => see_start.rescan_seconds),
               true
             ) AS rescan_due,
             CASE
               WHEN m.rescanned_at > now() - make_interval(secs => see_start.rescan_seconds)
                 AND m.rescanned_at <= now() + make_interval(secs => see_start.rescan_seconds)
                 AND NOT EXISTS (
                   SELECT
                   FROM millrace.pauses p
                   WHERE p.resumed_at > m.rescanned_at - make_interval(secs => see_start.grace_seconds)
                     AND ((p.scope = 'queue' AND p.name = q.queue) OR (p.scope = 'kind' AND p.name = ANY (see_start.kinds))))
               THEN m.marks
               ELSE array_fill('-infinity'::timestamptz, '{11}')
             END AS marks
      FROM unnest(see_start.queues) q(queue)
      LEFT JOIN millrace.claim_marks m ON m.queue = q.queue AND m.kinds_hash = see_start.kinds_hash
    ),
    taken AS (
      INSERT INTO millrace.claim_marks AS m (queue, kinds_hash, kinds, marks, rescanned_at)
      SELECT l.queue, see_start.kinds_hash, see_start.kinds, array_fill('-infinity'::timestamptz, '{11}'), now()
      FROM lanes l
      WHERE l.rescan_due AND see_start.slot = 0
      ORDER BY l.queue
      ON CONFLICT (queue, kinds_hash) DO UPDATE
      SET marks = excluded.marks, rescanned_at = excluded.rescanned_at
      WHERE m.rescanned_at <= now() - make_interval(secs => see_start.rescan_seconds)
        OR m.rescanned_at > now() + make_interval(secs => see_start.rescan_seconds)
    ),
    due AS MATERIALIZED (
      SELECT
      FROM lanes l
      CROSS JOIN unnest('{5,4,3,2,1,0,-1,-2,-3,-4,-5}'::smallint[], l.marks) p(priority, mark)
      CROSS JOIN LATERAL (
        SELECT
        FROM millrace.live_jobs i
        WHERE i.status = 'pending' AND i.reaps < 2
          AND i.queue = l.queue AND i.priority = p.priority AND i.run_at <= now()
          AND i.run_at >= least(p.mark, now() - make_interval(secs => see_start.grace_seconds))
          AND array_position(l.kinds, i.kind) IS NOT NULL
        ORDER BY i.run_at
        LIMIT (SELECT m.rows FROM matter m)
      ) d
      WHERE l.kinds <> '{}'
      LIMIT (SELECT m.rows FROM matter m)
    ),
    suspect AS MATERIALIZED (
      SELECT
      FROM lanes l
      CROSS JOIN LATERAL (
        SELECT
        FROM millrace.live_jobs i
        WHERE i.status = 'pending' AND i.reaps >= 2
          AND i.queue = l.queue AND i.run_at <= now()
          AND array_position(l.kinds, i.kind) IS NOT NULL
        ORDER BY i.run_at
        LIMIT 1
      ) d
      WHERE l.kinds <> '{}'
    ),
    in_flight AS MATERIALIZED (
      SELECT
      FROM (
        SELECT i.queue
        FROM millrace.live_jobs i
        WHERE i.status = 'processing' AND i.locked_until > now() AND see_start.slot > 0
        ORDER BY i.locked_until
      ) i
      WHERE i.queue = ANY (see_start.queues)
      LIMIT (SELECT m.rows FROM matter m)
    )
    SELECT h.token,
           coalesce(
             h.present_until > clock_timestamp() AND h.present_until <= clock_timestamp() + interval '10 seconds', false),
           abs(extract(epoch FROM clock_timestamp() - h.started_at))::float8,
           s.job_seconds,
           ((SELECT count(*) FROM due) + (SELECT count(*) FROM suspect))::int,
           (SELECT count(*) FROM in_flight)::int
    FROM seen s
    LEFT JOIN millrace.slots h ON h.worker = see_start.worker AND h.slot = see_start.slot;
END
$$;

-- A plan that was made in an idle queue, whose table may have no page at all, is used in the burst that follows, until the next
-- ANALYZE: a claim from 100,000 rows took 300 ms then, by a seq scan and a sort, and takes 2 ms without these.
ALTER FUNCTION millrace.claim(
  uuid, text, text[], float8[], int, int, bigint, timestamptz[], timestamptz, timestamptz, float8, float8
) SET enable_seqscan = off;
ALTER FUNCTION millrace.claim(
  uuid, text, text[], float8[], int, int, bigint, timestamptz[], timestamptz, timestamptz, float8, float8
) SET enable_sort = off;

/*
 * Claims from the first of these queues that has something due, in their order: a worker of many queues that finds nothing sends one
 * statement for all of them. Answers what millrace.claim does for each queue that was asked, with its place in the list.
 * `aged`, `rescanned_at`, `resumed_at`: one for each queue; `marks`: eleven for each, one after the other.
 */
CREATE FUNCTION millrace.claim_first(
  token uuid,
  queues text[],
  kinds text[],
  lease_seconds float8[],
  wanted int,
  aged int[],
  max_bytes bigint,
  marks timestamptz[],
  rescanned_at timestamptz[],
  resumed_at timestamptz[],
  grace_seconds float8,
  rescan_seconds float8
) RETURNS TABLE (
  place int,
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
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  found_some boolean := false;
BEGIN
  FOR i IN 1 .. cardinality(queues) LOOP
    place := i;
    FOR seen_until, rescan_due, looked_back, resumed_until, exhausted, suspect_due, next_heads, left_out, id, kind, priority, subject,
        attempts, max_attempts, reaps, run_at, created_at, waited_ms, is_aged, payload, request_id, traceparent IN
      SELECT c.seen_until, c.rescan_due, c.looked_back, c.resumed_until, c.exhausted, c.suspect_due, c.next_heads, c.left_out, c.id,
             c.kind, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps, c.run_at, c.created_at, c.waited_ms, c.is_aged,
             c.payload, c.request_id, c.traceparent
      FROM millrace.claim(
        token, queues[i], kinds, lease_seconds, wanted, aged[i], max_bytes, marks[11 * i - 10 : 11 * i], rescanned_at[i],
        resumed_at[i], grace_seconds, rescan_seconds) c
    LOOP
      found_some := found_some OR id IS NOT NULL;
      RETURN NEXT;
    END LOOP;
    EXIT WHEN found_some;
  END LOOP;
END
$$;

-- Who may use all of this, 0014 grants, which comes with the same release.
