-- Why: for a job that dies another one can be put in, in the statement that buries it; and the operator may ask how far vacuum is
-- held back.
-- Locks: none on tables, but for an instant on the catalogue rows of those that are granted, as in 0011.

-- A job that is dead, and the kind, queue and number of attempts of the one to be put in for it. `error` is its last.
CREATE TYPE millrace.death AS (
  id uuid,
  kind text,
  queue text,
  subject text,
  attempts int,
  created_at timestamptz,
  started_at timestamptz,
  error jsonb,
  request_id text,
  traceparent text,
  on_dead text,
  on_dead_queue text,
  on_dead_max_attempts int
);

-- Puts in one for each, all or none. It tells of the dead job what deadJob() of the package reads: its payload too, unless the
-- whole would come within 64 KiB of what a payload may take.
CREATE FUNCTION millrace.insert_on_dead(deaths millrace.death[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  WITH told AS MATERIALIZED (
    SELECT millrace.uuidv7() AS new_id, d.*,
           jsonb_build_object(
             'id', d.id, 'kind', d.kind, 'queue', d.queue, 'subject', d.subject, 'attempts', d.attempts,
             'created_at', to_char(d.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
             'started_at', to_char(d.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
             'error', d.error, 'payload', coalesce(p.payload, 'null'), 'payload_left_out', false) AS whole
    FROM unnest(deaths) d
    LEFT JOIN millrace.payloads_of(ARRAY(SELECT i.id FROM unnest(deaths) i)) p ON p.id = d.id
  ),
  weighed AS MATERIALIZED (
    SELECT t.*, octet_length(t.whole::text) AS bytes
    FROM told t
  ),
  cut AS MATERIALIZED (
    SELECT w.new_id, w.on_dead, w.on_dead_queue, w.on_dead_max_attempts, w.subject, w.request_id, w.traceparent, f.fits,
           CASE WHEN f.fits THEN w.whole ELSE w.whole || '{"payload": null, "payload_left_out": true}' END AS payload,
           w.bytes
    FROM weighed w
    CROSS JOIN LATERAL (VALUES (w.bytes <= 4194304 - 65536)) f(fits)
  ),
  payload AS (
    INSERT INTO millrace.payloads (id, payload)
    SELECT c.new_id, c.payload
    FROM cut c
  ),
  live AS (
    INSERT INTO millrace.live_jobs (id, kind, queue, max_attempts, subject, payload_bytes, request_id, traceparent)
    SELECT c.new_id, c.on_dead, c.on_dead_queue, c.on_dead_max_attempts, c.subject,
           CASE WHEN c.fits THEN c.bytes ELSE octet_length(c.payload::text) END, c.request_id, c.traceparent
    FROM cut c
    RETURNING kind
  )
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT l.kind, 'enqueued', count(*)
  FROM live l
  GROUP BY l.kind;
END
$$;

-- The same, but one that cannot be put in costs only itself, and never the burial that it is part of. Answers for which jobs there
-- is none, and why. What passes by itself (no memory, a lock, a cancel: classes 40, 53, 57, 58, and 55P03) is raised: the burial is
-- tried again.
-- With its owner's rights, so that a reaper needs no INSERT: what it can put in has the form of a death, of whatever kind. All at
-- once first, since each block of a transaction that has written makes the snapshots of everybody dearer, from the 65th on.
CREATE FUNCTION millrace.put_on_dead(deaths millrace.death[]) RETURNS TABLE (id uuid, reason text)
LANGUAGE plpgsql VOLATILE STRICT ROWS 10 SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  death millrace.death;
BEGIN
  BEGIN
    PERFORM millrace.insert_on_dead(deaths);
    RETURN;
  EXCEPTION WHEN OTHERS OR assert_failure THEN
    IF left(SQLSTATE, 2) IN ('40', '53', '57', '58') OR SQLSTATE = '55P03' THEN
      RAISE;
    END IF;
  END;
  FOREACH death IN ARRAY deaths LOOP
    BEGIN
      PERFORM millrace.insert_on_dead(ARRAY[death]);
    EXCEPTION WHEN OTHERS OR assert_failure THEN
      IF left(SQLSTATE, 2) IN ('40', '53', '57', '58') OR SQLSTATE = '55P03' THEN
        RAISE;
      END IF;
      put_on_dead.id := death.id;
      put_on_dead.reason := format('%s (SQLSTATE %s)', left(SQLERRM, 500), SQLSTATE);
      RETURN NEXT;
    END;
  END LOOP;
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
                    millrace.counter_deltas, millrace.claim_marks, millrace.pauses, millrace.migrations
      TO millrace_reader;
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
      millrace.put_on_dead(millrace.death[])
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
  END IF;
END
$$;

-- Roles of the user's own that settle or reap: with the functions for it, which were granted to them by name, goes this one.
DO $$
DECLARE
  settler regrole;
BEGIN
  FOR settler IN
    SELECT a.grantee::regrole
    FROM pg_catalog.pg_proc p
    CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a
    WHERE p.oid = 'millrace.with_error(jsonb, jsonb)'::regprocedure AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION millrace.put_on_dead(millrace.death[]) TO %s', settler);
  END LOOP;
END
$$;

-- If 0011 goes before in the same transaction, it has given its warning, and once is enough.
DO $$
BEGIN
  IF EXISTS (SELECT FROM millrace.migrations m WHERE m.version = 11 AND m.xmin = pg_current_xact_id()::xid) THEN
    SET LOCAL client_min_messages = error;
  END IF;
  PERFORM millrace.grant_roles();
  SET LOCAL client_min_messages TO DEFAULT;
END
$$;
