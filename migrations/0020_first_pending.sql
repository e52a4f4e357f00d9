-- Why: beside a transaction that stays open, looks at the state walked all jobs since then (docs/decisions/0034).
-- Locks: none on tables; replaces the function that grants, and grants anew.

-- The first pending job of a kind with a run_at from `first` on and before `last`. It keeps to the one index that gives their order:
-- where vacuum has been kept away, that one has so many pages for so few pending jobs that the planner prefers to sort what another
-- index has of the kind, which is every job since then.
CREATE FUNCTION millrace.first_pending(kind text, first timestamptz, last timestamptz) RETURNS TABLE (queue text, run_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 1 SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_sort = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT j.queue, j.run_at
    FROM millrace.live_jobs j
    WHERE j.kind = first_pending.kind AND j.status = 'pending'
      AND j.run_at >= first_pending.first AND j.run_at < first_pending.last
    ORDER BY j.run_at
    LIMIT 1;
END
$$;

-- Queues with a pending job among those that `served` has not, by name; at most 1,000 are looked at. `known`: queues by name that
-- there may be; what else waits is looked for between two of those, in ranges of the index in which nothing lies as a rule. Plans as in
-- first_pending: the planner would read all of another index, which has as few pending jobs, for one queue.
CREATE FUNCTION millrace.unserved_queues(known text[], served text[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE queues AS (
      SELECT '' AS queue, 1 AS next, 0 AS n
      UNION ALL
      SELECT coalesce(between_two, known[q.next]), q.next + (between_two IS NULL)::int, q.n + 1
      FROM queues q
      CROSS JOIN LATERAL (
        SELECT CASE
          WHEN known[q.next] IS NULL THEN (
            SELECT j.queue
            FROM millrace.live_jobs j
            WHERE j.status = 'pending' AND j.reaps < 2 AND j.queue > q.queue
            ORDER BY j.queue
            LIMIT 1
          )
          ELSE (
            SELECT j.queue
            FROM millrace.live_jobs j
            WHERE j.status = 'pending' AND j.reaps < 2 AND j.queue > q.queue AND j.queue < known[q.next]
            ORDER BY j.queue
            LIMIT 1
          )
        END AS between_two
        OFFSET 0
      ) unknown
      WHERE q.queue IS NOT NULL AND q.n < 1000
    )
    SELECT q.queue
    FROM queues q
    WHERE CASE WHEN q.queue <> '' AND q.queue <> ALL (served) THEN (
      SELECT true
      FROM millrace.live_jobs j
      WHERE j.queue = q.queue AND j.status = 'pending' AND j.reaps < 2
      ORDER BY j.queue, j.priority DESC, j.run_at
      LIMIT 1
    ) END;
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
      millrace.xmin_age(),
      millrace.first_pending(text, timestamptz, timestamptz),
      millrace.unserved_queues(text[], text[])
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
      millrace.take_wakes(text[]),
      millrace.complete(uuid[], uuid[], text, text),
      millrace.give_back(uuid[], uuid[], float8[], text, boolean, text)
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
      millrace.xmin_age(),
      millrace.first_pending(text, timestamptz, timestamptz),
      millrace.unserved_queues(text[], text[])
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
    GRANT SELECT, DELETE ON millrace.claim_marks TO millrace_reaper;
    GRANT SELECT ON millrace.pauses, millrace.migrations TO millrace_reaper;
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
      millrace.xmin_age(),
      millrace.first_pending(text, timestamptz, timestamptz),
      millrace.unserved_queues(text[], text[])
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

-- Roles of the user's own: with what was granted to them by name for reading and for reaping goes this.
DO $$
DECLARE
  granted regrole;
BEGIN
  FOR granted IN
    SELECT DISTINCT a.grantee::regrole
    FROM pg_catalog.pg_proc p
    CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a
    WHERE p.pronamespace = 'millrace'::regnamespace AND p.proname IN ('counts', 'maintain_partitions')
      AND a.grantee NOT IN (0, p.proowner)
  LOOP
    EXECUTE pg_catalog.format(
      'GRANT EXECUTE ON FUNCTION
         millrace.first_pending(text, timestamptz, timestamptz),
         millrace.unserved_queues(text[], text[])
       TO %s',
      granted);
  END LOOP;
END
$$;

-- If an earlier one goes before in the same transaction, it has given its warning, and once is enough.
DO $$
BEGIN
  IF EXISTS (SELECT FROM millrace.migrations m WHERE m.version IN (11, 12, 14, 16) AND m.xmin = pg_current_xact_id()::xid) THEN
    SET LOCAL client_min_messages = error;
  END IF;
  PERFORM millrace.grant_roles();
  SET LOCAL client_min_messages TO DEFAULT;
END
$$;
