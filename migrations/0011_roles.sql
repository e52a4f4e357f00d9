-- Why: a function, or an application of the user's own, connects as a role that may do what it is there for and nothing else,
-- and whose statements, locks and idle sessions end by themselves.
-- Locks: none on tables, but for an instant on the catalogue rows of those that are granted. Roles belong to the server: another
-- database of it that migrates at the same moment is waited for until it commits.

-- Jobs by their ids without payload and result, which is all that a list shows, and what a producer may see. Only two columns are
-- missing of the view, and no other function needs this row: so it is written here and not as a view.
CREATE FUNCTION millrace.jobs_without_content(ids uuid[])
RETURNS TABLE (
  id uuid,
  kind text,
  queue text,
  status varchar,
  priority smallint,
  attempts int,
  max_attempts int,
  reaps int,
  run_at timestamptz,
  created_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  cancel_requested_at timestamptz,
  subject text,
  idempotency_key text,
  unique_key text,
  errors jsonb,
  request_id text,
  traceparent text,
  progress real,
  progress_note text,
  progress_at timestamptz
)
LANGUAGE plpgsql STABLE ROWS 50 SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT j.*
    FROM unnest(jobs_without_content.ids) i(id)
    CROSS JOIN LATERAL (
      SELECT v.id, v.kind, v.queue, v.status, v.priority, v.attempts, v.max_attempts, v.reaps, v.run_at, v.created_at,
             v.started_at, v.finished_at, v.cancel_requested_at, v.subject, v.idempotency_key, v.unique_key, v.errors,
             v.request_id, v.traceparent, v.progress, v.progress_note, v.progress_at
      FROM millrace.jobs v
      WHERE v.id = i.id
      LIMIT 1
    ) j;
END
$$;

-- How many transactions have begun since the oldest one that vacuum must still keep dead rows for: the claim's index entries and
-- all others pile up behind it. 0: nothing is held. Seen are all that have written, of any database, and prepared ones (by the
-- snapshot of this statement); sessions of this database that only read, and standbys; replication slots. A vacuum's own
-- snapshot holds nothing back. None of it needs more rights than everybody has: pg_stat_activity hides what others do, but not
-- how old their snapshots are.
CREATE FUNCTION millrace.xmin_age() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT greatest(0, max(age(held.xid)))::bigint
  FROM (
    SELECT pg_snapshot_xmin(pg_current_snapshot())::xid
    UNION ALL
    SELECT a.backend_xmin
    FROM pg_stat_activity a
    WHERE (a.datname = current_database() OR a.datname IS NULL)
      AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = a.pid)
    UNION ALL
    SELECT unnest(ARRAY[s.xmin, s.catalog_xmin])
    FROM pg_replication_slots s
  ) held(xid)
$$;

-- From here on: for who owns this schema or administers the server.

CREATE FUNCTION millrace.role_names() RETURNS name[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT '{millrace_producer,millrace_reader,millrace_worker,millrace_reaper,millrace_operator}'::name[]
$$;

-- Each role's own settings; they count for the role that logs in, and not for those that are members of it.
--   statement_timeout   API functions answer within 30 s or nobody listens any more; a reaper's tick has 60 s; a worker runs the
--                       user's statements in ctx.transaction, and lives for 15 minutes at most
--   lock_timeout        no statement of ours waits that long on purpose; who does, waits for somebody's forgotten transaction
--   idle_in_transaction_session_timeout  between two statements of ours lie milliseconds; a processor may wait for another
--                       service within ctx.transaction, for as long as its worker lives
--   idle_session_timeout  a connection that was idle for more than a minute is replaced before it is used: what is idle for
--                       five belongs to a frozen sandbox that may never wake
--   tcp_keepalives_*    a client whose machine is gone is found after 60 + 3 × 10 s, in place of two hours
--   client_connection_check_interval  a statement whose client is gone ends within 10 s
CREATE FUNCTION millrace.timeouts_of(role name) RETURNS TABLE (setting text, value text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  VALUES
    ('statement_timeout', CASE role WHEN 'millrace_worker' THEN '15min' WHEN 'millrace_reaper' THEN '60s' ELSE '30s' END),
    ('lock_timeout', '30s'),
    ('idle_in_transaction_session_timeout', CASE role WHEN 'millrace_worker' THEN '15min' ELSE '60s' END),
    ('idle_session_timeout', '5min'),
    ('tcp_keepalives_idle', '60'),
    ('tcp_keepalives_interval', '10'),
    ('tcp_keepalives_count', '3'),
    ('client_connection_check_interval', '10s')
$$;

-- The settings that a role has no value for. One that it has stays, whoever gave it: an administrator, or another release of this
-- in another database of the server.
CREATE FUNCTION millrace.missing_timeouts(role name, as_of name) RETURNS SETOF text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('ALTER ROLE %I SET %s = %L', role, t.setting, t.value)
  FROM millrace.timeouts_of(as_of) t
  WHERE NOT EXISTS (
    SELECT
    FROM pg_db_role_setting s
    CROSS JOIN unnest(s.setconfig) c(given)
    WHERE s.setdatabase = 0 AND s.setrole = to_regrole(quote_ident(role)) AND split_part(c.given, '=', 1) = t.setting)
$$;

-- What is still to be done about the roles, each a statement for an administrator of the server.
CREATE FUNCTION millrace.role_statements() RETURNS TABLE (role name, statement text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT r.role, format('CREATE ROLE %I NOLOGIN', r.role)
  FROM unnest(millrace.role_names()) r(role)
  WHERE to_regrole(r.role::text) IS NULL
  UNION ALL
  SELECT r.role, s.statement
  FROM unnest(millrace.role_names()) r(role)
  CROSS JOIN millrace.missing_timeouts(r.role, r.role) s(statement)
$$;

-- Carries one of these statements out; answers false if that is not allowed here. Roles are shared by all databases of a server,
-- in which others may do the same at this moment: then it has waited for them, and tries again. A setting that this platform does
-- not have or does not take is done without.
CREATE FUNCTION millrace.run_on_role(role name, statement text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  FOR attempt IN 1..100 LOOP
    BEGIN
      EXECUTE statement;
      RETURN true;
    EXCEPTION
      WHEN duplicate_object THEN
        RETURN true;
      WHEN insufficient_privilege THEN
        RETURN false;
      WHEN undefined_object OR invalid_parameter_value THEN
        RETURN to_regrole(quote_ident(role)) IS NOT NULL;
      -- The latter is all that Postgres has to say of a row of a catalogue that somebody else changed first.
      WHEN unique_violation OR internal_error THEN
        IF attempt = 100 THEN
          RAISE;
        END IF;
    END;
  END LOOP;
END
$$;

-- Gives a login the timeouts of one of the roles, where it has none of its own. The worker's by default, which also suit a login
-- that is all the roles in one.
CREATE FUNCTION millrace.set_timeouts(role name, as_of name DEFAULT 'millrace_worker') RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  statement text;
BEGIN
  IF as_of <> ALL (millrace.role_names()) THEN
    RAISE EXCEPTION '% is none of the roles of the queue: %', as_of, array_to_string(millrace.role_names(), ', ')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  FOR statement IN SELECT * FROM millrace.missing_timeouts(role, as_of) LOOP
    IF NOT millrace.run_on_role(role, statement) THEN
      RAISE EXCEPTION '% may not do this or there is no such role: %', current_user, statement
        USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
END
$$;

-- Makes the roles, as far as the caller may and they are not there, and grants each what it needs in this database. It can be
-- repeated at any time, by the schema's owner. Says by a WARNING what an administrator has to do first.
-- This is the whole list. A migration that adds something replaces this function by one that grants it too, and calls it.
CREATE FUNCTION millrace.grant_roles() RETURNS void
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
      millrace.superseded(int, uuid)
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

  -- Takes back what was left, and lets go what is old. A row is locked by who may update one of its columns.
  IF to_regrole('millrace_reaper') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA millrace TO millrace_reaper;
    GRANT EXECUTE ON FUNCTION
      millrace.payloads_of(uuid[]),
      millrace.with_error(jsonb, jsonb),
      millrace.superseded(int, uuid),
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
      millrace.acted(text, jsonb, text)
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

-- With their owner's rights, who puts jobs in needs none on the tables: otherwise it would have to be able to delete any job, for
-- the sake of one that turns out to have a twin. It takes no SQL of its caller, and names mean what they say.
ALTER FUNCTION millrace.enqueue(text, jsonb, timestamptz, int, text, text, int, uuid, text, text, text, text[], text, text)
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION millrace.enqueue_many(jsonb)
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

-- Roles that were given the tables by name have used the functions as everybody could. They go on.
DO $$
DECLARE
  used text := (
    SELECT string_agg(p.oid::regprocedure::text, ', ')
    FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = 'millrace'::regnamespace AND p.proacl IS NULL
      AND p.proname <> ALL ('{xmin_age,role_names,timeouts_of,missing_timeouts,role_statements,run_on_role,set_timeouts,
                              grant_roles}'));
  user_of_old regrole;
BEGIN
  FOR user_of_old IN
    SELECT a.grantee::regrole
    FROM pg_catalog.pg_class c
    CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a
    WHERE c.oid = 'millrace.live_jobs'::regclass AND a.privilege_type = 'INSERT' AND a.grantee NOT IN (0, c.relowner)
  LOOP
    EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %s', used, user_of_old);
  END LOOP;
END
$$;

SELECT millrace.grant_roles();
