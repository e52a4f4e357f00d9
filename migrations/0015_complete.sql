-- Why: a completion as a function keeps its plan. As text it was planned at each call, which took a sixth of it; and a plan made
-- while the table was believed to be empty read all of it, on 15 by an index that has the id last (docs/decisions/0028).
-- Locks: SHARE on live_jobs while an index is built (about a second for a million rows that wait), then ACCESS EXCLUSIVE to the commit.

-- Of two indexes that seem to cost the same the planner takes the one that was made last, and in an empty table all do. Every
-- statement that looks for a live job by its id means this one: an index that is added to live_jobs goes before it.
CREATE UNIQUE INDEX live_jobs_by_id ON millrace.live_jobs (id);
ALTER TABLE millrace.live_jobs
  DROP CONSTRAINT live_jobs_pkey,
  ADD CONSTRAINT live_jobs_pkey PRIMARY KEY USING INDEX live_jobs_by_id;

/*
 * Completes these claims, each with its result, and answers the ids of those that it did not complete: somebody
 * else has them by now, or this very claim was settled before. Rows are locked in the order of their ids, as every verb does.
 * `patience`: the lock_timeout of the transaction from here on; NULL leaves it as it is.
 * One plan for all values, as millrace.claim has, and only one is left: the claims merged with what the primary key finds by `= ANY`.
 * Others look as cheap where the table is believed to be empty, and read all of an index, which a pinned horizon fills with the dead.
 * `results`: a JSON array, as text, since some drivers turn jsonb into JSON a second time. All of it is read, whether a claim holds or
 * not: a bad one is told the same when it comes again.
 */
CREATE FUNCTION millrace.complete(ids uuid[], tokens uuid[], results text, patience text) RETURNS SETOF uuid
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_nestloop = off SET enable_hashjoin = off SET enable_sort = off
AS $$
BEGIN
  IF patience IS NOT NULL THEN
    PERFORM set_config('lock_timeout', patience, true);
  END IF;
  RETURN QUERY
    WITH settled AS MATERIALIZED (
      SELECT s.id, s.token, s.result
      FROM ROWS FROM (unnest(ids), unnest(tokens), jsonb_array_elements(results::jsonb)) s(id, token, result)
      ORDER BY s.id
    ),
    gone AS MATERIALIZED (
      DELETE FROM millrace.live_jobs j
      USING settled s
      WHERE j.id = ANY (ids) AND j.id = s.id AND j.locked_by = s.token
      RETURNING j.*, s.result
    ),
    completed AS (
      INSERT INTO millrace.finished_jobs
        (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
         cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
         result, request_id, traceparent)
      SELECT g.id, g.kind, g.queue, 'completed', g.priority, g.attempts, g.max_attempts, g.reaps, g.locked_by, g.run_at,
             g.created_at, g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key,
             g.unique_key, g.concurrency_key, g.schedule_name, g.errors, g.result, g.request_id, g.traceparent
      FROM gone g
      RETURNING id, kind
    ),
    counted AS (
      INSERT INTO millrace.counter_deltas (kind, event, n)
      SELECT c.kind, 'completed', count(*)
      FROM completed c
      GROUP BY c.kind
    )
    SELECT s.id
    FROM settled s
    WHERE s.id NOT IN (SELECT c.id FROM completed c);
END
$$;

-- Who may use it, 0016 grants, which comes with the same release.
