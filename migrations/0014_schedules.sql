-- Why: jobs that recur. Which they are and when stands in the code of the workers, who declare it here at each start; what must
-- outlive them is kept here: up to when each has fired.
-- Locks: ACCESS EXCLUSIVE on pauses and operator_log for catalogue changes, no pass over the log; SHARE on live_jobs for one pass
-- (the index; it is partial, and no row has the column yet): some milliseconds for each 100,000 live jobs.

-- A schedule as it was declared last, and up to when it has fired.
CREATE TABLE millrace.schedules (
  name text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$'),
  -- When: the one or the other, as the code has it.
  cron text,
  every text,
  zone text,
  -- What is put in then; sealed if the kind has a codec.
  kind text NOT NULL,
  queue text NOT NULL,
  max_attempts int NOT NULL,
  payload jsonb NOT NULL CHECK (octet_length(payload::text) <= 4194304),
  catch_up text NOT NULL CHECK (catch_up IN ('latest', 'all', 'none')),
  overlap text NOT NULL CHECK (overlap IN ('skip', 'allow')),
  declared_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The fence: a fire time up to here is over, whatever became of it, and comes never again.
  fired_until timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- As a worker last reckoned it; for people.
  next_fire_at timestamptz,
  -- The last fire time that came, what became of it, and the job of the last one that made one.
  last_fire_at timestamptz,
  last_outcome text CHECK (last_outcome IN ('fired', 'overlap', 'paused', 'missed')),
  last_job_id uuid,
  CONSTRAINT schedules_timing_check CHECK ((cron IS NULL) <> (every IS NULL) AND (zone IS NULL) = (cron IS NULL))
);

-- Whether a job of a schedule is live.
CREATE INDEX live_jobs_schedule ON millrace.live_jobs (schedule_name) WHERE schedule_name IS NOT NULL;

ALTER TABLE millrace.pauses
  DROP CONSTRAINT pauses_scope_check,
  ADD CONSTRAINT pauses_scope_check CHECK (scope IN ('queue', 'kind', 'schedule'));
-- NOT VALID: what is there is within the old list.
ALTER TABLE millrace.operator_log
  DROP CONSTRAINT operator_log_action_check,
  ADD CONSTRAINT operator_log_action_check CHECK (action IN ('cancel', 'redrive', 'erase', 'pause', 'resume', 'fire')) NOT VALID;

-- Makes the schedules what the code says, by name, and answers from when on each is to fire, with the database's time. A new one
-- fires from now on, and so does one whose times have changed: by the new ones it has missed nothing. A row that is as it should
-- be is not written, but each five minutes, so that one that nobody declares any more can be told.
-- A row that somebody holds (a fire by hand in a transaction that stays open) is left as it is, for the next start: none waits.
CREATE FUNCTION millrace.declare_schedules(schedules jsonb)
RETURNS TABLE (name text, fires_from timestamptz, next_fire_at timestamptz, stated_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO millrace.schedules (name, cron, every, zone, kind, queue, max_attempts, payload, catch_up, overlap)
  SELECT d.name, d.cron, d.every, d.zone, d.kind, d.queue, d.max_attempts, coalesce(d.payload, 'null'), d.catch_up, d.overlap
  FROM jsonb_to_recordset(declare_schedules.schedules) d(
    name text, cron text, every text, zone text, kind text, queue text, max_attempts int, payload jsonb, catch_up text,
    overlap text)
  WHERE NOT EXISTS (SELECT FROM millrace.schedules s WHERE s.name = d.name)
  -- In one order, so that two who declare do not wait for each other in a circle.
  ORDER BY d.name
  ON CONFLICT DO NOTHING;

  WITH declared AS MATERIALIZED (
    SELECT d.name, d.cron, d.every, d.zone, d.kind, d.queue, d.max_attempts, coalesce(d.payload, 'null') AS payload, d.catch_up,
           d.overlap
    FROM jsonb_to_recordset(declare_schedules.schedules) d(
      name text, cron text, every text, zone text, kind text, queue text, max_attempts int, payload jsonb, catch_up text,
      overlap text)
  ),
  stale AS MATERIALIZED (
    SELECT s.name, (s.cron, s.every, s.zone) IS DISTINCT FROM (d.cron, d.every, d.zone) AS other_times
    FROM millrace.schedules s
    JOIN declared d ON d.name = s.name
    WHERE s.declared_at < clock_timestamp() - interval '5 minutes'
       OR (s.cron, s.every, s.zone, s.kind, s.queue, s.max_attempts, s.payload, s.catch_up, s.overlap) IS DISTINCT FROM
          (d.cron, d.every, d.zone, d.kind, d.queue, d.max_attempts, d.payload, d.catch_up, d.overlap)
    FOR UPDATE OF s SKIP LOCKED
  )
  UPDATE millrace.schedules s
  SET cron = d.cron, every = d.every, zone = d.zone, kind = d.kind, queue = d.queue, max_attempts = d.max_attempts,
      payload = d.payload, catch_up = d.catch_up, overlap = d.overlap, declared_at = clock_timestamp(),
      fired_until = CASE WHEN o.other_times THEN greatest(s.fired_until, clock_timestamp()) ELSE s.fired_until END,
      next_fire_at = CASE WHEN o.other_times THEN NULL ELSE s.next_fire_at END
  FROM stale o
  JOIN declared d ON d.name = o.name
  WHERE s.name = o.name;

  RETURN QUERY
    SELECT s.name, greatest(s.fired_until, p.resumed_at), s.next_fire_at, clock_timestamp()
    FROM jsonb_to_recordset(declare_schedules.schedules) d(name text)
    JOIN millrace.schedules s ON s.name = d.name
    LEFT JOIN millrace.pauses p ON p.scope = 'schedule' AND p.name = s.name;
END
$$;

-- A job of the schedule for this fire time; put in by nobody's request, so the time stands where the request's id would.
CREATE FUNCTION millrace.put_scheduled(schedule millrace.schedules, fire_at timestamptz) RETURNS uuid
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  new_id uuid := millrace.uuidv7();
BEGIN
  INSERT INTO millrace.payloads (id, payload) VALUES (new_id, schedule.payload);
  INSERT INTO millrace.live_jobs (id, kind, queue, max_attempts, payload_bytes, schedule_name, request_id)
  VALUES (new_id, schedule.kind, schedule.queue, schedule.max_attempts, octet_length(schedule.payload::text), schedule.name,
          'schedule/' || schedule.name || '/' || to_char(fire_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  INSERT INTO millrace.counter_deltas (kind, event, n) VALUES (schedule.kind, 'enqueued', 1);
  RETURN new_id;
END
$$;

-- Lets fire times come, each at most once whoever asks how often: the row of the schedule is locked, and says up to when it has
-- fired. `fires`: by schedule its name, cron, every, zone, the times in order, whether they are only to pass, and the next one.
-- Answers for each time what became of it:
--   fired, overlap, paused, missed   as in schedules.last_outcome
--   over        it has come before
--   ahead       it has not come yet, by the clock of this database
--   superseded  the schedule was declared with other times since, or is gone
--   held        somebody has the row: another run that fires it, or one by hand whose transaction is open. Ask again
--   noted       there was no time; the next one is noted
CREATE FUNCTION millrace.fire_schedules(fires jsonb)
RETURNS TABLE (name text, fire_at timestamptz, outcome text, job_id uuid, fired_at timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  fire record;
  schedule millrace.schedules;
BEGIN
  FOR fire IN
    SELECT *
    FROM jsonb_to_recordset(fires) f(
      name text, cron text, every text, zone text, times timestamptz[], missed boolean, next_fire_at timestamptz)
    ORDER BY f.name
  LOOP
    fire_schedules.name := fire.name;
    fire_at := fire.times[1];
    job_id := NULL;
    -- A run does all it does over one connection, so it waits for nobody here.
    SELECT * INTO schedule FROM millrace.schedules s WHERE s.name = fire.name FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND EXISTS (SELECT FROM millrace.schedules s WHERE s.name = fire.name) THEN
      outcome := 'held';
      fired_at := clock_timestamp();
      RETURN NEXT;
      CONTINUE;
    END IF;
    IF (schedule.cron, schedule.every, schedule.zone) IS DISTINCT FROM (fire.cron, fire.every, fire.zone) THEN
      outcome := 'superseded';
      fired_at := clock_timestamp();
      RETURN NEXT;
      CONTINUE;
    END IF;
    IF fire.times = '{}' THEN
      outcome := 'noted';
      fired_at := clock_timestamp();
      RETURN NEXT;
    END IF;
    FOREACH fire_at IN ARRAY fire.times LOOP
      job_id := NULL;
      fired_at := clock_timestamp();
      IF fire_at > fired_at THEN
        outcome := 'ahead';
      ELSIF fire_at <= schedule.fired_until THEN
        outcome := 'over';
      ELSE
        IF EXISTS (
          SELECT
          FROM millrace.pauses p
          WHERE p.scope = 'schedule' AND p.name = fire.name AND (p.resumed_at IS NULL OR p.resumed_at >= fire_at)
        ) THEN
          outcome := 'paused';
        ELSIF fire.missed THEN
          outcome := 'missed';
        ELSIF schedule.overlap = 'skip'
          AND EXISTS (SELECT FROM millrace.live_jobs j WHERE j.schedule_name = schedule.name)
        THEN
          outcome := 'overlap';
        ELSE
          outcome := 'fired';
          job_id := millrace.put_scheduled(schedule, fire_at);
          schedule.last_job_id := job_id;
        END IF;
        schedule.fired_until := fire_at;
        schedule.last_fire_at := fire_at;
        schedule.last_outcome := outcome;
      END IF;
      RETURN NEXT;
    END LOOP;
    UPDATE millrace.schedules s
    SET fired_until = schedule.fired_until, next_fire_at = fire.next_fire_at, last_fire_at = schedule.last_fire_at,
        last_outcome = schedule.last_outcome, last_job_id = schedule.last_job_id
    WHERE s.name = fire.name;
  END LOOP;
END
$$;

-- Makes a job of the schedule now, paused or not, and leaves its fire times alone. `overlap` with the job that is live, if it is
-- not to overlap; no row: there is no such schedule. The same request within ten minutes is answered as the first time.
CREATE FUNCTION millrace.fire_by_hand(name text, actor text DEFAULT NULL, request_id text DEFAULT NULL)
RETURNS TABLE (outcome text, job_id uuid)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  schedule millrace.schedules;
BEGIN
  SELECT * INTO schedule FROM millrace.schedules s WHERE s.name = fire_by_hand.name FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT 'fired', (l.target ->> 'id')::uuid
  INTO outcome, job_id
  FROM millrace.operator_log l
  WHERE l.request_id = fire_by_hand.request_id AND l.action = 'fire' AND l.target ->> 'schedule' = schedule.name
    AND l.at > clock_timestamp() - interval '10 minutes'
  ORDER BY l.id DESC
  LIMIT 1;
  IF job_id IS NULL AND schedule.overlap = 'skip' THEN
    SELECT 'overlap', j.id INTO outcome, job_id FROM millrace.live_jobs j WHERE j.schedule_name = schedule.name LIMIT 1;
  END IF;
  IF job_id IS NULL THEN
    outcome := 'fired';
    job_id := millrace.put_scheduled(schedule, clock_timestamp());
    INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
    VALUES (coalesce(fire_by_hand.actor, session_user), 'fire', jsonb_build_object('schedule', schedule.name, 'id', job_id), 1,
            fire_by_hand.request_id);
  END IF;
  RETURN NEXT;
END
$$;

-- Makes the roles, as far as the caller may and they are not there, and grants each what it needs in this database. It can be
-- repeated at any time, by the schema's owner. Says by a WARNING what an administrator has to do first.
-- This is the whole list. A migration that adds something replaces this function by one that grants it too, and calls it.
CREATE OR REPLACE FUNCTION millrace.grant_roles() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  todo record;
  refused text := '';
BEGIN
  -- As a migration does; and no upkeep of partitions meanwhile, which changes the same rows of the catalogue.
  PERFORM pg_advisory_xact_lock(7236834, 0), pg_advisory_xact_lock(7236834, 1);

  FOR todo IN SELECT * FROM millrace.role_statements() LOOP
    IF NOT millrace.run_on_role(todo.role, todo.statement) THEN
      refused := refused || E'\n  ' || todo.statement || ';';
    END IF;
  END LOOP;
  IF refused <> '' THEN
    RAISE WARNING '% may not do this to the roles of the queue; an administrator has to:%', current_user, refused
      USING HINT = 'Then grant what is missing, as the owner of the schema: SELECT millrace.grant_roles()';
  END IF;

  -- What has nothing of the queue in it is for everybody: a column of a user's own table may have uuidv7() as its default.
  REVOKE ALL ON ALL FUNCTIONS IN SCHEMA millrace FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION millrace.uuidv7(), millrace.uuidv7_floor(timestamptz), millrace.uuidv7_time(uuid) TO PUBLIC;

  -- Puts jobs in, by functions that have their owner's rights: it can delete none, and change none but by `replace`, which a job
  -- with a unique key is open to while it waits. Sees what became of them, but neither payload nor result.
  IF to_regrole('millrace_producer') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA millrace TO millrace_producer;
    GRANT EXECUTE ON FUNCTION
      millrace.enqueue(text, jsonb, timestamptz, int, text, text, int, uuid, text, text, text, text[], text, text),
      millrace.enqueue_many(jsonb),
      millrace.jobs_without_content(uuid[]),
      millrace.page(uuid, uuid, int, text[], text, text),
      millrace.counts(uuid, uuid, int, text[], text, text),
      millrace.kinds_of(text, text[])
    TO millrace_producer;
    GRANT SELECT (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, started_at, finished_at,
                  cancel_requested_at, subject, idempotency_key, unique_key, errors, request_id, traceparent, progress,
                  progress_note, progress_at)
      ON millrace.jobs TO millrace_producer;
    GRANT SELECT (id, kind, status, subject) ON millrace.live_jobs, millrace.finished_jobs, millrace.dead_jobs
      TO millrace_producer;
    GRANT EXECUTE ON FUNCTION millrace.take_wakes(text[]) TO millrace_producer;
    GRANT SELECT (worker, present_until) ON millrace.slots TO millrace_producer;
    GRANT SELECT, INSERT, UPDATE ON millrace.wakes TO millrace_producer;
  END IF;

  -- Sees all but keys' fingerprints and the operators' log. Changes nothing.
  IF to_regrole('millrace_reader') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA millrace TO millrace_reader;
    GRANT EXECUTE ON FUNCTION
      millrace.jobs_of(uuid[]),
      millrace.jobs_without_content(uuid[]),
      millrace.page(uuid, uuid, int, text[], text, text),
      millrace.counts(uuid, uuid, int, text[], text, text),
      millrace.kinds_of(text, text[]),
      millrace.xmin_age()
    TO millrace_reader;
    GRANT SELECT ON millrace.jobs, millrace.live_jobs, millrace.finished_jobs, millrace.dead_jobs, millrace.counters,
                    millrace.counter_deltas, millrace.claim_marks, millrace.pauses, millrace.migrations, millrace.slots
      TO millrace_reader;
    GRANT SELECT (name, cron, every, zone, kind, queue, max_attempts, catch_up, overlap, declared_at, fired_until, next_fire_at,
                  last_fire_at, last_outcome, last_job_id)
      ON millrace.schedules TO millrace_reader;
  END IF;

  -- Claims and settles; and all that a producer may, since a job may lead to others.
  IF to_regrole('millrace_worker') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA millrace TO millrace_worker;
    GRANT EXECUTE ON FUNCTION
      millrace.enqueue(text, jsonb, timestamptz, int, text, text, int, uuid, text, text, text, text[], text, text),
      millrace.enqueue_many(jsonb),
      millrace.jobs_without_content(uuid[]),
      millrace.page(uuid, uuid, int, text[], text, text),
      millrace.counts(uuid, uuid, int, text[], text, text),
      millrace.kinds_of(text, text[]),
      millrace.claim(uuid, text, text[], float8[], int, int, bigint, timestamptz[], timestamptz, timestamptz, float8, float8),
      millrace.payloads_of(uuid[]),
      millrace.with_error(jsonb, jsonb),
      millrace.superseded(int, uuid),
      millrace.put_on_dead(millrace.death[]),
      millrace.declare_schedules(jsonb),
      millrace.fire_schedules(jsonb),
      millrace.claim_first(uuid, text[], text[], float8[], int, int[], bigint, timestamptz[], timestamptz[], timestamptz[], float8, float8),
      millrace.see_start(text, int, text[], text[], uuid, float8, float8, float8, int, float8, float8),
      millrace.take_wakes(text[])
    TO millrace_worker;
    GRANT SELECT (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, started_at, finished_at,
                  cancel_requested_at, subject, idempotency_key, unique_key, errors, request_id, traceparent, progress,
                  progress_note, progress_at)
      ON millrace.jobs TO millrace_worker;
    GRANT SELECT, UPDATE, DELETE ON millrace.live_jobs TO millrace_worker;
    GRANT SELECT ON millrace.payloads, millrace.pauses TO millrace_worker;
    GRANT SELECT (id, kind, status, subject, locked_by), INSERT ON millrace.finished_jobs, millrace.dead_jobs
      TO millrace_worker;
    GRANT SELECT, INSERT, UPDATE ON millrace.job_progress, millrace.claim_marks TO millrace_worker;
    GRANT INSERT ON millrace.counter_deltas TO millrace_worker;
    GRANT SELECT, INSERT, UPDATE ON millrace.slots TO millrace_worker;
    GRANT SELECT, INSERT, UPDATE ON millrace.wakes TO millrace_worker;
  END IF;

  -- Takes back what was left, and lets go what is old; puts jobs in only for those that die (on_dead), by a function that has its
  -- owner's rights. A row is locked by who may update one of its columns.
  IF to_regrole('millrace_reaper') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA millrace TO millrace_reaper;
    GRANT EXECUTE ON FUNCTION
      millrace.payloads_of(uuid[]),
      millrace.with_error(jsonb, jsonb),
      millrace.superseded(int, uuid),
      millrace.put_on_dead(millrace.death[]),
      millrace.maintain_partitions(interval, interval, text),
      millrace.xmin_age()
    TO millrace_reaper;
    GRANT SELECT, UPDATE, DELETE ON millrace.live_jobs TO millrace_reaper;
    GRANT SELECT (id, kind, status, finished_at), INSERT, UPDATE (finished_at), DELETE
      ON millrace.finished_jobs, millrace.dead_jobs TO millrace_reaper;
    -- The one partition that is read by name.
    GRANT SELECT (id, finished_at), UPDATE (finished_at) ON millrace.finished_jobs_oldest TO millrace_reaper;
    GRANT SELECT, DELETE ON millrace.payloads TO millrace_reaper;
    GRANT SELECT, INSERT, UPDATE ON millrace.counters TO millrace_reaper;
    GRANT SELECT, INSERT, UPDATE, DELETE ON millrace.counter_deltas TO millrace_reaper;
    GRANT SELECT (id, updated_at), DELETE ON millrace.job_progress TO millrace_reaper;
    GRANT SELECT (kind, key, job_id, checked_at), UPDATE (checked_at), DELETE ON millrace.idempotency_keys TO millrace_reaper;
    GRANT SELECT (id, at), DELETE ON millrace.operator_log TO millrace_reaper;
    GRANT SELECT ON millrace.claim_marks, millrace.pauses, millrace.migrations TO millrace_reaper;
    GRANT SELECT (name, declared_at), DELETE ON millrace.schedules TO millrace_reaper;
  END IF;

  -- Intervenes; and sees what a reader does. Adds to the log and cannot change it.
  IF to_regrole('millrace_operator') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA millrace TO millrace_operator;
    GRANT EXECUTE ON FUNCTION
      millrace.jobs_of(uuid[]),
      millrace.jobs_without_content(uuid[]),
      millrace.page(uuid, uuid, int, text[], text, text),
      millrace.counts(uuid, uuid, int, text[], text, text),
      millrace.kinds_of(text, text[]),
      millrace.cancel(uuid, text, text),
      millrace.erase(uuid, text, text),
      millrace.acted(text, jsonb, text),
      millrace.fire_by_hand(text, text, text),
      millrace.xmin_age()
    TO millrace_operator;
    GRANT SELECT ON millrace.jobs, millrace.counters, millrace.claim_marks, millrace.migrations TO millrace_operator;
    GRANT SELECT, INSERT, UPDATE, DELETE ON millrace.live_jobs TO millrace_operator;
    GRANT SELECT, INSERT, DELETE ON millrace.finished_jobs TO millrace_operator;
    GRANT SELECT, UPDATE (finished_at), DELETE ON millrace.dead_jobs TO millrace_operator;
    GRANT SELECT (id), INSERT, DELETE ON millrace.payloads TO millrace_operator;
    GRANT SELECT (id), DELETE ON millrace.job_progress TO millrace_operator;
    GRANT SELECT (job_id), UPDATE (fingerprint) ON millrace.idempotency_keys TO millrace_operator;
    GRANT SELECT, INSERT ON millrace.counter_deltas, millrace.operator_log TO millrace_operator;
    GRANT SELECT, INSERT, UPDATE ON millrace.pauses TO millrace_operator;
    GRANT EXECUTE ON FUNCTION millrace.take_wakes(text[]) TO millrace_operator;
    GRANT SELECT (worker, present_until) ON millrace.slots TO millrace_operator;
    GRANT SELECT, INSERT, UPDATE ON millrace.wakes TO millrace_operator;
    GRANT SELECT (name, cron, every, zone, kind, queue, max_attempts, catch_up, overlap, declared_at, fired_until, next_fire_at,
                  last_fire_at, last_outcome, last_job_id)
      ON millrace.schedules TO millrace_operator;
  END IF;
END
$$;

-- Roles of the user's own that work: with the function that claims, which was granted to them by name, go these.
DO $$
DECLARE
  claimer regrole;
BEGIN
  FOR claimer IN
    SELECT a.grantee::regrole
    FROM pg_catalog.pg_proc p
    CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a
    WHERE p.pronamespace = 'millrace'::regnamespace AND p.proname = 'claim' AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE pg_catalog.format(
      'GRANT EXECUTE ON FUNCTION millrace.declare_schedules(jsonb), millrace.fire_schedules(jsonb), '
      'millrace.claim_first(uuid, text[], text[], float8[], int, int[], bigint, timestamptz[], timestamptz[], timestamptz[], '
      'float8, float8), '
      'millrace.see_start(text, int, text[], text[], uuid, float8, float8, float8, int, float8, float8) TO %s', claimer);
    EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE ON millrace.slots TO %s', claimer);
  END LOOP;
END
$$;

-- If an earlier one goes before in the same transaction, it has given its warning, and once is enough.
DO $$
BEGIN
  IF EXISTS (SELECT FROM millrace.migrations m WHERE m.version IN (11, 12) AND m.xmin = pg_current_xact_id()::xid) THEN
    SET LOCAL client_min_messages = error;
  END IF;
  PERFORM millrace.grant_roles();
  SET LOCAL client_min_messages TO DEFAULT;
END
$$;
