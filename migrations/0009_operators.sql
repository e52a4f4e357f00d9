-- Why: what an operator does leaves a row in operator_log by the same statement, from SQL as well; and a job that comes back
-- beside a pending one of its unique key gives way to it.
-- Locks: creates functions; nothing that exists is locked.

-- The errors of a job with one more, of which the last 20 are kept; without one they stay as they are.
CREATE FUNCTION millrace.with_error(errors jsonb, error jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT CASE
    WHEN error IS NULL THEN errors
    ELSE jsonb_path_query_array(coalesce(errors, '[]'), '$[last - 18 to last]') || error
  END
$$;

-- What is kept of a job that gives way to `twin`, as the last of its errors. NULL without one.
CREATE FUNCTION millrace.superseded(attempt int, twin uuid) RETURNS jsonb LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$
  SELECT CASE
    WHEN twin IS NOT NULL THEN jsonb_build_object(
      -- 0 of one that was given back before it gives way.
      'attempt', greatest(attempt, 1),
      'failed_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'name', 'Superseded',
      'message', format('job %s has the same unique key and is pending: it runs in place of this one', twin))
  END
$$;

-- Whether this very request did it before and its answer was lost: then it is answered as the first time. Not if the request
-- has done something else to the target since: a script may give all that it does one id, and what pauses, resumes and pauses
-- again means the last. Ten minutes are longer than anybody resends.
CREATE FUNCTION millrace.acted(action text, target jsonb, request_id text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
AS $$
  SELECT coalesce((array_agg(l.action ORDER BY l.id DESC))[1] = acted.action, false)
  FROM millrace.operator_log l
  WHERE l.request_id = acted.request_id AND l.target = acted.target AND l.at > now() - interval '10 minutes'
$$;

-- Ends a pending job ('cancelled'), or asks a running one to stop ('requested': its signal fires within about a second, and
-- it ends in cancelled unless it completes first). Another answer is the state of a job that had ended otherwise; NULL: there
-- is no such job. Harmless to repeat. `actor`: who is named in operator_log, default the session's user.
CREATE FUNCTION millrace.cancel(id uuid, actor text DEFAULT NULL, request_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  answer text;
BEGIN
  LOOP
    -- `held` locks the latest version of the row; whoever waited for it and finds the row gone looks again.
    WITH held AS MATERIALIZED (
      SELECT l.*
      FROM millrace.live_jobs l
      WHERE l.id = cancel.id
      FOR UPDATE
    ),
    requested AS (
      UPDATE millrace.live_jobs j
      SET cancel_requested_at = clock_timestamp()
      WHERE j.id = (SELECT h.id FROM held h WHERE h.status = 'processing' AND h.cancel_requested_at IS NULL)
      RETURNING j.id
    ),
    gone AS (
      DELETE FROM millrace.live_jobs j
      WHERE j.id = (SELECT h.id FROM held h WHERE h.status = 'pending')
    ),
    cancelled AS (
      INSERT INTO millrace.finished_jobs
        (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, started_at,
         cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
         request_id, traceparent)
      SELECT h.id, h.kind, h.queue, 'cancelled', h.priority, h.attempts, h.max_attempts, h.reaps, h.run_at, h.created_at,
             h.started_at, clock_timestamp(), h.payload_bytes, h.subject, h.idempotency_key, h.unique_key,
             h.concurrency_key, h.schedule_name, h.errors, h.request_id, h.traceparent
      FROM held h
      WHERE h.status = 'pending'
      RETURNING id, kind
    ),
    counted AS (
      INSERT INTO millrace.counter_deltas (kind, event, n)
      SELECT c.kind, 'cancelled', 1
      FROM cancelled c
    ),
    logged AS (
      INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
      SELECT coalesce(cancel.actor, session_user), 'cancel', jsonb_build_object('id', c.id), 1, cancel.request_id
      FROM (SELECT r.id FROM requested r UNION ALL SELECT d.id FROM cancelled d) c
    )
    SELECT CASE h.status WHEN 'pending' THEN 'cancelled' ELSE 'requested' END
    INTO answer
    FROM held h;
    EXIT WHEN answer IS NOT NULL;
    SELECT j.status INTO answer
    FROM millrace.jobs j
    WHERE j.id = cancel.id;
    -- A live row again: it was redriven since. Every turn of this loop is somebody else's transition.
    CONTINUE WHEN answer IN ('pending', 'processing');
    IF answer IN ('completed', 'dead') AND millrace.acted('cancel', jsonb_build_object('id', cancel.id), cancel.request_id) THEN
      answer := 'requested';
    END IF;
    EXIT;
  END LOOP;
  RETURN answer;
END
$$;

-- Takes a job that has ended out, with its payload, result, errors and progress; no table keeps anything of them, and the
-- fingerprints of its idempotency keys go too (from then on any payload is a replay of them). What remains are its counts, and
-- its id in operator_log. Postgres itself forgets deleted rows at the next vacuum, and its WAL and backups when they expire.
-- Answers 'erased', the state of a job that still lives, or NULL if there is no such job.
-- A statement for each table, for the reason of docs/decisions/0004.
CREATE FUNCTION millrace.erase(id uuid, actor text DEFAULT NULL, request_id text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  answer text;
BEGIN
  LOOP
    DELETE FROM millrace.finished_jobs f WHERE f.id = erase.id;
    EXIT WHEN FOUND;
    DELETE FROM millrace.dead_jobs d WHERE d.id = erase.id;
    EXIT WHEN FOUND;
    SELECT j.status INTO answer
    FROM millrace.jobs j
    WHERE j.id = erase.id;
    IF answer IS NULL AND millrace.acted('erase', jsonb_build_object('id', erase.id), erase.request_id) THEN
      RETURN 'erased';
    END IF;
    IF answer IS NULL OR answer IN ('pending', 'processing') THEN
      RETURN answer;
    END IF;
    -- It ended between these statements: once more.
  END LOOP;
  DELETE FROM millrace.payloads p WHERE p.id = erase.id;
  DELETE FROM millrace.job_progress p WHERE p.id = erase.id;
  UPDATE millrace.idempotency_keys k SET fingerprint = NULL WHERE k.job_id = erase.id;
  INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
  VALUES (coalesce(erase.actor, session_user), 'erase', jsonb_build_object('id', erase.id), 1, erase.request_id);
  RETURN 'erased';
END
$$;
