-- Why: settling keeps its plan, as functions: a completion, and giving back. As text each was planned at each call, which took a
-- sixth of a completion; and a plan made while the table was believed to be empty read all of it, on 15 by an index that has the id
-- last (docs/decisions/0028).
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
 * What is missed is looked for only if fewer are gone than were asked for, and a row carries on only what is written of it.
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
      RETURNING j.id, j.kind, j.queue, j.priority, j.attempts, j.max_attempts, j.reaps, j.locked_by, j.run_at, j.created_at,
                j.started_at, j.cancel_requested_at, j.payload_bytes, j.subject, j.idempotency_key, j.unique_key,
                j.concurrency_key, j.schedule_name, j.errors, s.result, j.request_id, j.traceparent
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
    ),
    counted AS (
      INSERT INTO millrace.counter_deltas (kind, event, n)
      SELECT g.kind, 'completed', count(*)
      FROM gone g
      GROUP BY g.kind
    )
    SELECT s.id
    FROM settled s
    WHERE (SELECT count(*) FROM gone) < cardinality(ids) AND s.id NOT IN (SELECT g.id FROM gone g);
END
$$;

/*
 * Gives these claims back, due again in `delays` seconds each: pending, or ended if that is what should become of them. Answers each
 * that it held, and where the job is now. Rows are locked in the order of their ids.
 * `errors`: a JSON array, as text, as above: the attempts are spent. NULL for a release, which gives them back.
 * `parks`: all but the status is written, and the row stays under its claim: see functions/queue/give-back.ts.
 * `patience`: as above.
 * `held` locks the latest version of each row, so that no cancel request falls between the decision and the move. A row that
 * this claim has parked is not given back a second time. Its twin is looked for as in functions/queue/twin.ts.
 * `judged`: of jobs of one key the newest goes back, whose payload is the newest; the others give way to it, and all of them
 * to a twin that is pending. A twin that is claimed while this runs begins after these attempts have ended: it stands for them.
 * A twin that nobody can see yet makes the unique index wait: see functions/queue/around-blocked.ts.
 * One plan for all values, as above, and only one is left: Postgres 15 knows that a subquery is in order, but not that a WITH is.
 * Without a sort there is also but one index for the twin: where few seem to be pending, all that are would look as cheap, and the
 * plan is kept for a time when many are.
 */
CREATE FUNCTION millrace.give_back(
  ids uuid[],
  tokens uuid[],
  delays float8[],
  errors text,
  parks boolean,
  patience text
) RETURNS TABLE (id uuid, status text)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_nestloop = off SET enable_hashjoin = off SET enable_sort = off
AS $$
DECLARE
  spent boolean := errors IS NOT NULL;
BEGIN
  IF patience IS NOT NULL THEN
    PERFORM set_config('lock_timeout', patience, true);
  END IF;
  RETURN QUERY
    WITH held AS MATERIALIZED (
      SELECT j.*,
             CASE WHEN j.cancel_requested_at IS NULL THEN j.kind || ' ' || j.unique_key END AS rivals,
             CASE WHEN j.cancel_requested_at IS NULL AND j.unique_key IS NOT NULL THEN (
               SELECT t.id
               FROM millrace.live_jobs t
               WHERE t.status = 'pending' AND t.closed_at IS NULL AND t.unique_key IS NOT NULL
                 AND (t.unique_key, t.kind) >= (j.unique_key, j.kind)
                 AND (t.unique_key, t.kind) <= (j.unique_key, j.kind)
               ORDER BY t.unique_key, t.kind
               LIMIT 1
             ) END AS twin
      FROM (
        SELECT l.*, s.error, s.delay_seconds
        FROM (
          SELECT DISTINCT ON (s.id, s.token) s.id, s.token, s.delay_seconds, s.error
          FROM ROWS FROM (unnest(ids), unnest(tokens), unnest(delays), jsonb_array_elements(give_back.errors::jsonb))
            s(id, token, delay_seconds, error)
          ORDER BY s.id, s.token
        ) s
        JOIN millrace.live_jobs l
          ON l.id = s.id AND l.locked_by = s.token AND l.returned_by IS DISTINCT FROM s.token
        WHERE l.id = ANY (ids)
        FOR UPDATE OF l
      ) j
    ),
    judged AS MATERIALIZED (
      SELECT h.*,
             CASE WHEN h.rivals IS NOT NULL THEN coalesce(h.twin, nullif(first_value(h.id) OVER newest, h.id)) END AS successor
      FROM held h
      WINDOW newest AS (PARTITION BY h.rivals ORDER BY h.created_at DESC, h.id DESC)
    ),
    ended AS MATERIALIZED (
      SELECT h.*
      FROM judged h
      WHERE h.cancel_requested_at IS NOT NULL OR h.successor IS NOT NULL
    ),
    returned AS (
      UPDATE millrace.live_jobs j
      SET status = CASE WHEN parks THEN j.status ELSE 'pending' END,
          attempts = CASE WHEN spent THEN j.attempts ELSE greatest(j.attempts - 1, 0) END,
          locked_by = CASE WHEN parks THEN j.locked_by END,
          locked_until = CASE WHEN parks THEN clock_timestamp() END,
          returned_by = j.locked_by,
          closed_at = NULL,
          run_at = greatest(j.run_at, clock_timestamp() + make_interval(secs => g.delay_seconds)),
          errors = millrace.with_error(j.errors, g.error)
      FROM (
        SELECT h.id, h.error, h.delay_seconds
        FROM judged h
        WHERE h.cancel_requested_at IS NULL AND h.successor IS NULL
        ORDER BY h.id
      ) g
      WHERE j.id = ANY (ids) AND j.id = g.id
      RETURNING j.id, j.kind
    ),
    gone AS (
      DELETE FROM millrace.live_jobs j
      USING (SELECT h.id FROM ended h ORDER BY h.id) e
      WHERE j.id = ANY (ids) AND j.id = e.id
    ),
    cancelled AS (
      INSERT INTO millrace.finished_jobs AS f
        (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
         cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
         request_id, traceparent)
      SELECT e.id, e.kind, e.queue, 'cancelled', e.priority, e.attempts, e.max_attempts, e.reaps, e.locked_by, e.run_at,
             e.created_at, e.started_at, e.cancel_requested_at, e.payload_bytes, e.subject, e.idempotency_key,
             e.unique_key, e.concurrency_key, e.schedule_name,
             millrace.with_error(millrace.with_error(e.errors, e.error), millrace.superseded(e.attempts, e.successor)),
             e.request_id, e.traceparent
      FROM ended e
      RETURNING f.id, f.kind
    ),
    moved AS (
      SELECT r.id, r.kind, 'pending' AS status, CASE WHEN spent THEN 'retried' ELSE 'released' END AS event
      FROM returned r
      UNION ALL
      SELECT c.id, c.kind, 'cancelled', 'cancelled' FROM cancelled c
    ),
    counted AS (
      INSERT INTO millrace.counter_deltas (kind, event, n)
      SELECT m.kind, m.event, count(*)
      FROM moved m
      GROUP BY m.kind, m.event
    )
    SELECT m.id, m.status FROM moved m;
END
$$;

-- Who may use them, 0016 grants, which comes with the same release.
