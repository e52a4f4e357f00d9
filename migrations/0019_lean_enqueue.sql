-- Why: a batch of jobs of kind and payload costs the database a third less. Jobs without keys go in straight from the JSON, and
-- what nobody gave is not checked (measured: docs/decisions/0030).
-- Locks: replaces functions; then ACCESS EXCLUSIVE on live_jobs for a change of the catalogue alone, to the commit.

-- Puts a job in, inside the caller's transaction, and returns its id. NULL is a field's default; a payload of NULL is JSON's
-- null. Raises check_violation (23514) for a field outside its bounds, and for a payload of more than 4 MiB as text.
--   id               an id that is a job already changes nothing and is returned: a resend is harmless
--   idempotency_key  the same key, kind and payload again: the id of the first; another payload: SQLSTATE MR001
--   unique_key       at most one pending job for a kind and key: if one is there, its id is returned; with
--   unique_while     'live' (default 'pending') also if one is running; a REPEATABLE READ transaction does not see one that was
--                    put in and started since its snapshot
--   replace          'payload', 'run_at': what that pending one takes over from this
-- A job without id and keys goes in here: nobody else can have the id that is made for it, and none can stand for it.
CREATE OR REPLACE FUNCTION millrace.enqueue(
  kind text,
  payload jsonb,
  run_at timestamptz DEFAULT NULL,
  priority int DEFAULT 0,
  queue text DEFAULT 'default',
  subject text DEFAULT NULL,
  max_attempts int DEFAULT 5,
  id uuid DEFAULT NULL,
  idempotency_key text DEFAULT NULL,
  unique_key text DEFAULT NULL,
  unique_while text DEFAULT 'pending',
  replace text[] DEFAULT '{}',
  request_id text DEFAULT NULL,
  traceparent text DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  new_id uuid := coalesce(enqueue.id, millrace.uuidv7());
  job millrace.new_job;
BEGIN
  payload := coalesce(payload, 'null');
  run_at := greatest(run_at, clock_timestamp());
  priority := coalesce(priority, 0);
  queue := coalesce(queue, 'default');
  max_attempts := coalesce(max_attempts, 5);
  unique_while := coalesce(unique_while, 'pending');
  replace := coalesce(replace, '{}');
  IF unique_while NOT IN ('pending', 'live') THEN
    RAISE EXCEPTION 'unique_while must be pending or live' USING ERRCODE = '22023';
  END IF;
  IF NOT replace <@ '{payload,run_at}' THEN
    RAISE EXCEPTION 'replace takes payload and run_at' USING ERRCODE = '22023';
  END IF;
  IF unique_key IS NULL AND (unique_while <> 'pending' OR replace <> '{}') THEN
    RAISE EXCEPTION 'unique_while and replace need a unique_key' USING ERRCODE = '22023';
  END IF;

  IF enqueue.id IS NULL AND idempotency_key IS NULL AND unique_key IS NULL THEN
    INSERT INTO millrace.payloads (id, payload) VALUES (new_id, enqueue.payload);
    INSERT INTO millrace.live_jobs
      (id, kind, queue, priority, max_attempts, subject, payload_bytes, run_at, request_id, traceparent)
    VALUES (new_id, enqueue.kind, enqueue.queue, least(greatest(enqueue.priority, -99), 99), enqueue.max_attempts,
            enqueue.subject, octet_length(enqueue.payload::text), enqueue.run_at, enqueue.request_id, enqueue.traceparent);
    INSERT INTO millrace.counter_deltas (kind, event, n) VALUES (enqueue.kind, 'enqueued', 1);
    RETURN new_id;
  END IF;

  job := ROW(
    kind, payload, run_at, priority, queue, subject, max_attempts, enqueue.id, idempotency_key, unique_key, unique_while,
    replace, request_id, traceparent);
  IF idempotency_key IS NULL THEN
    RETURN (millrace.put_job(job, new_id)).id;
  END IF;
  RETURN (SELECT p.id FROM millrace.put_jobs(ARRAY[job]) p);
END
$$;

-- Raises invalid_parameter_value (22023) for an item of enqueue_many that is not as it must be: the first that has an unknown
-- field, else the first with another flaw.
CREATE FUNCTION millrace.check_jobs(jobs jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
  flaw text;
BEGIN
  IF jsonb_typeof(jobs) IS DISTINCT FROM 'array' THEN
    RAISE EXCEPTION 'jobs must be an array of objects' USING ERRCODE = '22023';
  END IF;
  IF jsonb_array_length(jobs) > 1000 THEN
    RAISE EXCEPTION 'jobs has % items and may have 1000', jsonb_array_length(jobs) USING ERRCODE = '22023';
  END IF;

  -- The fields that most batches are made of take little to check. It ends at the first item with another field or a flaw: then all
  -- are checked below, where a flaw gets its words, and what is rare but right passes.
  IF NOT EXISTS (
    SELECT
    FROM jsonb_array_elements(jobs) e(item)
    WHERE CASE
      WHEN jsonb_typeof(e.item) <> 'object' OR jsonb_typeof(e.item -> 'kind') IS DISTINCT FROM 'string' THEN true
      WHEN NOT millrace.is_name(e.item ->> 'kind') THEN true
      WHEN e.item - '{kind,payload}'::text[] = '{}' THEN false
      ELSE e.item - '{kind,payload,id,subject,idempotency_key,unique_key,request_id,traceparent}'::text[] <> '{}'
           OR NOT millrace.is_text(e.item -> 'id', 36)
           OR NOT millrace.is_uuid(e.item ->> 'id')
           OR NOT millrace.is_text(e.item -> 'subject', 255)
           OR NOT millrace.is_text(e.item -> 'idempotency_key', 255)
           OR NOT millrace.is_text(e.item -> 'unique_key', 255)
           OR NOT millrace.is_text(e.item -> 'request_id', 255)
           OR NOT millrace.is_text(e.item -> 'traceparent', 255)
    END
  ) THEN
    RETURN;
  END IF;

  SELECT format('jobs[%s]', i.n - 1) || CASE
           WHEN i.unknown IS NULL THEN ' must be an object'
           ELSE format('.%s is not a field that is known here',
                       left((SELECT min(k) FROM jsonb_object_keys(i.unknown) k), 100))
         END
  INTO flaw
  FROM (
    SELECT e.n, CASE WHEN jsonb_typeof(e.item) = 'object' THEN
             e.item - '{kind,payload,run_at,delay_seconds,priority,queue,subject,max_attempts,id,idempotency_key,unique_key,
                        unique_while,replace,request_id,traceparent}'::text[]
           END AS unknown
    FROM jsonb_array_elements(jobs) WITH ORDINALITY e(item, n)
    OFFSET 0
  ) i
  WHERE i.unknown IS DISTINCT FROM '{}'
  ORDER BY i.n
  LIMIT 1;

  IF flaw IS NULL THEN
    SELECT format('jobs[%s].%s', i.n - 1, f.flaw)
    INTO flaw
    FROM ROWS FROM (jsonb_to_recordset(jobs) AS (
      kind jsonb, queue jsonb, priority jsonb, max_attempts jsonb, run_at jsonb, delay_seconds jsonb, id jsonb, subject jsonb,
      idempotency_key jsonb, unique_key jsonb, unique_while jsonb, replace jsonb, request_id jsonb, traceparent jsonb
    )) WITH ORDINALITY i(kind, queue, priority, max_attempts, run_at, delay_seconds, id, subject,
      idempotency_key, unique_key, unique_while, replace, request_id, traceparent, n)
    CROSS JOIN LATERAL (
      SELECT CASE
        WHEN i.kind IS NULL THEN 'kind is required'
        WHEN NOT millrace.is_text(i.kind, 100) OR NOT millrace.is_name(i.kind #>> '{}')
          THEN 'kind must be 1 to 100 of A-Z a-z 0-9 . _ : - and begin with a letter or digit'
        WHEN NOT millrace.is_text(i.queue, 100) OR NOT millrace.is_name(i.queue #>> '{}')
          THEN 'queue must be 1 to 100 of A-Z a-z 0-9 . _ : - and begin with a letter or digit'
        WHEN NOT millrace.is_number(i.priority, -5, 5) OR i.priority::numeric % 1 <> 0
          THEN 'priority must be a whole number from -5 to 5'
        WHEN NOT millrace.is_number(i.max_attempts, 1, 1000) OR i.max_attempts::numeric % 1 <> 0
          THEN 'max_attempts must be a whole number from 1 to 1000'
        WHEN jsonb_typeof(i.run_at) <> 'string' OR NOT millrace.is_time(i.run_at #>> '{}')
          THEN 'run_at must be a time with its zone, such as 2030-01-31T08:00:00Z'
        WHEN NOT millrace.is_number(i.delay_seconds, 0, 315360000)
          THEN 'delay_seconds must be a number from 0 to 315360000'
        WHEN i.delay_seconds IS NOT NULL AND i.run_at IS NOT NULL THEN 'delay_seconds excludes run_at: give one of the two'
        WHEN NOT millrace.is_text(i.id, 36) OR NOT millrace.is_uuid(i.id #>> '{}') THEN 'id must be a UUID'
        WHEN NOT millrace.is_text(i.subject, 255) THEN 'subject must have 1 to 255 characters'
        WHEN NOT millrace.is_text(i.idempotency_key, 255) THEN 'idempotency_key must have 1 to 255 characters'
        WHEN NOT millrace.is_text(i.unique_key, 255) THEN 'unique_key must have 1 to 255 characters'
        WHEN i.unique_while NOT IN ('"pending"', '"live"') THEN 'unique_while must be pending or live'
        WHEN jsonb_typeof(i.replace) <> 'array' OR NOT i.replace <@ '["payload", "run_at"]'
          THEN 'replace must be an array of payload and run_at'
        WHEN i.unique_key IS NULL AND coalesce(i.unique_while, i.replace) IS NOT NULL
          THEN 'unique_key is missing, which unique_while and replace need'
        WHEN NOT millrace.is_text(i.request_id, 255) THEN 'request_id must have 1 to 255 characters'
        WHEN NOT millrace.is_text(i.traceparent, 255) THEN 'traceparent must have 1 to 255 characters'
      END
      OFFSET 0
    ) f(flaw)
    WHERE f.flaw IS NOT NULL
    ORDER BY i.n
    LIMIT 1;
  END IF;

  IF flaw IS NOT NULL THEN
    RAISE EXCEPTION '%', flaw USING ERRCODE = '22023';
  END IF;
END
$$;

-- The items of enqueue_many, checked.
CREATE OR REPLACE FUNCTION millrace.new_jobs(jobs jsonb) RETURNS millrace.new_job[]
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  PERFORM millrace.check_jobs(jobs);
  RETURN (
    SELECT array_agg(ROW(
             i.kind, coalesce(i.payload, 'null'),
             coalesce(i.run_at, clock_timestamp() + make_interval(secs => i.delay_seconds)),
             coalesce(i.priority::int, 0), coalesce(i.queue, 'default'), i.subject, coalesce(i.max_attempts::int, 5), i.id,
             i.idempotency_key, i.unique_key, coalesce(i.unique_while, 'pending'),
             CASE WHEN i.replace IS NULL THEN '{}' ELSE ARRAY(SELECT jsonb_array_elements_text(i.replace)) END,
             i.request_id, i.traceparent)::millrace.new_job ORDER BY i.ordinality)
    FROM ROWS FROM (jsonb_to_recordset(jobs) AS (
      kind text, payload jsonb, run_at timestamptz, delay_seconds float8, priority numeric, queue text, subject text,
      max_attempts numeric, id uuid, idempotency_key text, unique_key text, unique_while text, replace jsonb, request_id text,
      traceparent text
    )) WITH ORDINALITY i);
END
$$;

-- Puts up to 1,000 jobs in, all or none, and answers for each, in order: the id of the job that stands for it, and as what.
--   created   put in by this call, or by an earlier one that gave the same id
--   replayed  the idempotency key is known; pruned: and the job's retention is over, or it was erased
--   kept, replaced  a job with the same unique key is there; replaced: and took over what `replace` names
-- Items are objects with enqueue's parameters as fields, null as much as absent; run_at is a time with its zone, and
-- delay_seconds, from the database's now, may stand in its place. Raises 22023 naming the item and field (`jobs[3].priority …`).
-- Several jobs of which none has a key go in here, in one statement; all others by put_jobs, which knows in which order they take
-- their locks. An id made here is nobody else's: only those that were given can be there already.
CREATE OR REPLACE FUNCTION millrace.enqueue_many(jobs jsonb)
RETURNS TABLE (index int, id uuid, outcome text, pruned boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
  IF NOT jobs @? '$[1]' OR jobs @? '$[*] ? (exists(@.idempotency_key) || exists(@.unique_key))' THEN
    RETURN QUERY SELECT * FROM millrace.put_jobs(millrace.new_jobs(jobs));
    RETURN;
  END IF;

  PERFORM millrace.check_jobs(jobs);
  RETURN QUERY
    WITH given AS MATERIALIZED (
      SELECT (j.ordinality - 1)::int AS index, j.id, coalesce(j.id, millrace.uuidv7()) AS new_id, j.kind,
             coalesce(j.payload, 'null') AS payload,
             coalesce(j.run_at, clock_timestamp() + make_interval(secs => j.delay_seconds)) AS run_at,
             coalesce(j.priority::int, 0) AS priority, coalesce(j.queue, 'default') AS queue, j.subject,
             coalesce(j.max_attempts::int, 5) AS max_attempts, j.request_id, j.traceparent
      FROM ROWS FROM (jsonb_to_recordset(jobs) AS (
        kind text, payload jsonb, run_at timestamptz, delay_seconds float8, priority numeric, queue text, subject text,
        max_attempts numeric, id uuid, request_id text, traceparent text
      )) WITH ORDINALITY j
    ),
    made AS (
      INSERT INTO millrace.payloads (id, payload)
      SELECT g.new_id, g.payload
      FROM given g
      WHERE g.id IS NULL
    ),
    -- In the order of the ids, which all batches wait in. A dead job outlives its payload.
    sent AS MATERIALIZED (
      SELECT DISTINCT ON (g.id) g.id, g.index, g.payload
      FROM given g
      WHERE g.id IS NOT NULL AND (SELECT d.id FROM millrace.dead_jobs d WHERE d.id = g.id) IS NULL
      ORDER BY g.id, g.index
    ),
    taken AS (
      INSERT INTO millrace.payloads (id, payload)
      SELECT s.id, s.payload
      FROM sent s
      ON CONFLICT DO NOTHING
      RETURNING id
    ),
    live AS (
      INSERT INTO millrace.live_jobs
        (id, kind, queue, priority, max_attempts, subject, payload_bytes, run_at, request_id, traceparent)
      SELECT g.new_id, g.kind, g.queue, g.priority, g.max_attempts, g.subject, octet_length(g.payload::text),
             greatest(g.run_at, clock_timestamp()), g.request_id, g.traceparent
      FROM given g
      -- In the order given, which is then that of the run times. IS TRUE keeps it from becoming a join, which for a guessed number
      -- of rows may be quadratic.
      WHERE g.id IS NULL
         OR g.index IN (SELECT s.index FROM sent s WHERE (s.id IN (SELECT t.id FROM taken t)) IS TRUE)
      RETURNING kind
    ),
    counted AS (
      INSERT INTO millrace.counter_deltas (kind, event, n)
      SELECT l.kind, 'enqueued', count(*)
      FROM live l
      GROUP BY l.kind
    )
    SELECT g.index, g.new_id, 'created', false
    FROM given g;
END
$$;

-- enqueue_many calls it with its owner's rights.
REVOKE ALL ON FUNCTION millrace.check_jobs(jsonb) FROM PUBLIC;

-- The same names as before, for less: the name that nearly all queues have is compared whole, and bytes are counted faster than
-- characters, which come to the same since only those of one byte are allowed. Each claim makes these checks, too. NOT VALID: what
-- is there has passed the old ones.
ALTER TABLE millrace.live_jobs
  DROP CONSTRAINT live_jobs_kind_check,
  DROP CONSTRAINT live_jobs_queue_check,
  ADD CONSTRAINT live_jobs_kind_check
    CHECK (octet_length(kind) BETWEEN 1 AND 100 AND kind !~ '[^A-Za-z0-9._:-]|^[._:-]') NOT VALID,
  ADD CONSTRAINT live_jobs_queue_check CHECK (
    queue = 'default' OR (octet_length(queue) BETWEEN 1 AND 100 AND queue !~ '[^A-Za-z0-9._:-]|^[._:-]')) NOT VALID;
