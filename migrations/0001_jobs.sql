-- Why: the tables every other part stands on. Narrow hot rows, payloads that never move, ends in tables of their own.
-- Locks: creates new objects only; nothing that exists is locked.

-- The runner has made it by now; this is for whoever applies the files by hand.
DO $$
BEGIN
  IF to_regnamespace('millrace') IS NULL THEN
    CREATE SCHEMA millrace;
  END IF;
END $$;

-- Time-ordered ids (RFC 9562, version 7, with 12 bits of sub-millisecond order). Postgres 18 has its own.
DO $$
BEGIN
  IF current_setting('server_version_num')::int >= 180000 THEN
    CREATE FUNCTION millrace.uuidv7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT pg_catalog.uuidv7()';
  ELSE
    CREATE FUNCTION millrace.uuidv7() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
    AS $f$
      SELECT (lpad(to_hex(us / 1000), 12, '0')
              || to_hex(x'7000'::int + (us % 1000) * 4096 / 1000)
              || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid
      FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) t(us)
    $f$;
  END IF;
END $$;

-- The smallest version 7 id of that millisecond: what partition bounds and time filters compare ids with.
CREATE FUNCTION millrace.uuidv7_floor(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT (lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid
$$;

-- Pending and processing jobs only, so that its size follows the backlog and never the history.
CREATE TABLE millrace.live_jobs (
  id uuid PRIMARY KEY,
  kind text NOT NULL CHECK (kind ~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$'),
  queue text NOT NULL DEFAULT 'default' CHECK (queue ~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$'),
  status varchar(20) NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'processing')),
  priority smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN -5 AND 5),
  attempts int NOT NULL DEFAULT 0 CHECK (attempts BETWEEN 0 AND max_attempts),
  max_attempts int NOT NULL DEFAULT 5 CHECK (max_attempts BETWEEN 1 AND 1000),
  -- How often its lease ran out. From 2 on it is a suspect and runs only when its worker runs nothing else.
  reaps int NOT NULL DEFAULT 0 CHECK (reaps >= 0),
  -- The claim token: fresh for each claim statement, and the only fence.
  locked_by uuid,
  locked_until timestamptz,
  -- Token of the claim that last put this job back (retry, release): a repeated settle is recognised by it.
  returned_by uuid,
  run_at timestamptz NOT NULL DEFAULT clock_timestamp() CHECK (isfinite(run_at)),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  started_at timestamptz,
  cancel_requested_at timestamptz,
  -- As text, which is what a claim carries: 32 µs for 12 KB, measured; jsonb's own size can be 20 times less. The bound
  -- is that of a claim: a payload that could not arrive would be claimed and lost for ever.
  payload_bytes int NOT NULL DEFAULT 0 CHECK (payload_bytes <= 4194304),
  subject text CHECK (char_length(subject) BETWEEN 1 AND 255),
  idempotency_key text,
  unique_key text,
  concurrency_key text,
  schedule_name text,
  -- Written on failure only: an array of the last 20, oldest first. NULL means none.
  errors jsonb,
  CONSTRAINT live_jobs_claimed_check CHECK ((status = 'processing') = (locked_by IS NOT NULL)),
  CONSTRAINT live_jobs_lease_check CHECK ((locked_by IS NULL) = (locked_until IS NULL)),
  -- A claim adds one attempt, so a pending job must have one left: a row that broke this would fail every claim.
  CONSTRAINT live_jobs_attempt_left_check CHECK (status = 'processing' OR attempts < max_attempts)
) WITH (
  -- Dead rows are bounded by naptime × rate; these keep vacuum due at every nap (claim p99 9–12 → 7 ms, measured).
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 1000
);

-- Index order = claim order. status is not a leading column: the planner would drop it as implied and lose the bound.
CREATE INDEX live_jobs_claim ON millrace.live_jobs (queue, priority DESC, run_at) WHERE status = 'pending' AND reaps < 2;
CREATE INDEX live_jobs_suspect ON millrace.live_jobs (queue, run_at) WHERE status = 'pending' AND reaps >= 2;
CREATE INDEX live_jobs_lease ON millrace.live_jobs (locked_until) WHERE status = 'processing';
-- Oldest due age by kind and due kinds that nobody claims: one probe a kind.
CREATE INDEX live_jobs_due ON millrace.live_jobs (kind, run_at) WHERE status = 'pending';
CREATE INDEX live_jobs_list ON millrace.live_jobs (kind, status, id);
CREATE INDEX live_jobs_subject ON millrace.live_jobs (subject, id) WHERE subject IS NOT NULL;

-- Written once at enqueue and never moved: moving a row would move its TOASTed payload (8 KB: WAL × 2, measured).
CREATE TABLE millrace.payloads (
  id uuid PRIMARY KEY,
  payload jsonb NOT NULL
) PARTITION BY RANGE (id);

CREATE TABLE millrace.finished_jobs (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  queue text NOT NULL,
  status varchar(20) NOT NULL CHECK (status IN ('completed', 'cancelled')),
  priority smallint NOT NULL,
  attempts int NOT NULL,
  max_attempts int NOT NULL,
  reaps int NOT NULL,
  -- The token that settled it: a repeated settle with the same token is "accepted". NULL if it never ran.
  locked_by uuid,
  run_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  cancel_requested_at timestamptz,
  payload_bytes int NOT NULL,
  subject text,
  idempotency_key text,
  unique_key text,
  concurrency_key text,
  schedule_name text,
  errors jsonb,
  result jsonb
) PARTITION BY RANGE (id);
CREATE INDEX finished_jobs_list ON millrace.finished_jobs (kind, status, id);
CREATE INDEX finished_jobs_status ON millrace.finished_jobs (status, id);
CREATE INDEX finished_jobs_subject ON millrace.finished_jobs (subject, id) WHERE subject IS NOT NULL;

-- Own table, own copy of the payload, own (longer) retention: neither keeps the other's days alive.
CREATE TABLE millrace.dead_jobs (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  queue text NOT NULL,
  status varchar(20) NOT NULL DEFAULT 'dead' CHECK (status = 'dead'),
  priority smallint NOT NULL,
  attempts int NOT NULL,
  max_attempts int NOT NULL,
  reaps int NOT NULL,
  locked_by uuid,
  run_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  started_at timestamptz,
  finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  cancel_requested_at timestamptz,
  payload_bytes int NOT NULL,
  subject text,
  idempotency_key text,
  unique_key text,
  concurrency_key text,
  schedule_name text,
  errors jsonb,
  payload jsonb NOT NULL
);
CREATE INDEX dead_jobs_list ON millrace.dead_jobs (kind, id);
CREATE INDEX dead_jobs_finished ON millrace.dead_jobs (finished_at);
CREATE INDEX dead_jobs_subject ON millrace.dead_jobs (subject, id) WHERE subject IS NOT NULL;

-- How far claims have seen, per queue and set of kinds: what keeps a claim flat under a pinned vacuum horizon.
CREATE TABLE millrace.claim_marks (
  queue text NOT NULL,
  kinds_hash uuid NOT NULL,
  kinds text[] NOT NULL,
  -- One per priority, from 5 down to -5.
  marks timestamptz[] NOT NULL CHECK (cardinality(marks) = 11),
  -- The worker whose update of this wins does the full rescan of that half minute.
  rescanned_at timestamptz NOT NULL,
  PRIMARY KEY (queue, kinds_hash)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100);

-- Queues and kinds that are not claimed. A resumed row stays, so that workers see when to look back.
CREATE TABLE millrace.pauses (
  scope text NOT NULL CHECK (scope IN ('queue', 'kind')),
  name text NOT NULL,
  paused_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  resumed_at timestamptz,
  PRIMARY KEY (scope, name)
);

-- Monotone counters: statements append deltas, the reaper rolls them up. A read sums both in one statement.
CREATE TABLE millrace.counters (
  kind text NOT NULL,
  event text NOT NULL
    CHECK (event IN ('enqueued', 'completed', 'retried', 'buried', 'released', 'cancelled', 'reaped', 'redriven')),
  total bigint NOT NULL,
  PRIMARY KEY (kind, event)
);
CREATE TABLE millrace.counter_deltas (
  kind text NOT NULL,
  event text NOT NULL,
  n bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Every state in one relation. A read across the tables must be one statement: two would miss a row on the move.
CREATE VIEW millrace.jobs AS
  SELECT id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, locked_until, run_at, created_at,
         started_at, NULL::timestamptz AS finished_at, cancel_requested_at, subject, idempotency_key, unique_key,
         concurrency_key, schedule_name, coalesce(errors, '[]') AS errors, NULL::jsonb AS result,
         (SELECT p.payload FROM millrace.payloads p WHERE p.id = j.id) AS payload
  FROM millrace.live_jobs j
  UNION ALL
  SELECT id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, NULL, run_at, created_at,
         started_at, finished_at, cancel_requested_at, subject, idempotency_key, unique_key,
         concurrency_key, schedule_name, coalesce(errors, '[]'), result,
         (SELECT p.payload FROM millrace.payloads p WHERE p.id = j.id)
  FROM millrace.finished_jobs j
  UNION ALL
  SELECT id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, NULL, run_at, created_at,
         started_at, finished_at, cancel_requested_at, subject, idempotency_key, unique_key,
         concurrency_key, schedule_name, coalesce(errors, '[]'), NULL, payload
  FROM millrace.dead_jobs j;
