-- Why: what keeps a request from making two jobs (idempotency keys), what keeps a subject from piling up (unique keys), what
-- ties a job to its request, how far it is, and who intervened.
-- Locks: ACCESS EXCLUSIVE on live_jobs, finished_jobs and dead_jobs, for catalogue changes and one pass over live_jobs (the two
-- indexes; they are partial, and no row has the column yet): some milliseconds for each 100,000 live jobs.

-- The id of the HTTP request that put the job in, and its W3C trace context: one id finds the request, the job and each attempt.
ALTER TABLE millrace.live_jobs
  ADD COLUMN request_id text,
  ADD COLUMN traceparent text,
  -- Since when a pending job of a unique key stands for no other enqueue: see functions/queue/close-held.ts. It is cleared
  -- when the job comes back from a run.
  ADD COLUMN closed_at timestamptz,
  ADD CONSTRAINT live_jobs_idempotency_key_check CHECK (char_length(idempotency_key) BETWEEN 1 AND 255) NOT VALID,
  ADD CONSTRAINT live_jobs_unique_key_check CHECK (char_length(unique_key) BETWEEN 1 AND 255) NOT VALID,
  ADD CONSTRAINT live_jobs_request_id_check CHECK (char_length(request_id) BETWEEN 1 AND 255) NOT VALID,
  ADD CONSTRAINT live_jobs_traceparent_check CHECK (char_length(traceparent) BETWEEN 1 AND 255) NOT VALID;
ALTER TABLE millrace.finished_jobs ADD COLUMN request_id text, ADD COLUMN traceparent text;
ALTER TABLE millrace.dead_jobs ADD COLUMN request_id text, ADD COLUMN traceparent text;

-- At most one pending job of a kind and key that is not closed. What makes a row pending looks for a twin first; this is for
-- what comes in between.
-- The key comes first: with the kind first, a planner without statistics takes live_jobs_due for it and walks the kind's
-- backlog (137 pages against 2, measured).
CREATE UNIQUE INDEX live_jobs_unique ON millrace.live_jobs (unique_key, kind)
  WHERE status = 'pending' AND closed_at IS NULL AND unique_key IS NOT NULL;
-- For `unique_while => 'live'`: whether one of that key runs, or is about to.
CREATE INDEX live_jobs_unique_running ON millrace.live_jobs (unique_key, kind)
  WHERE (status = 'processing' OR closed_at IS NOT NULL) AND unique_key IS NOT NULL;

-- Unpartitioned: a unique key cannot span partitions by time. Rows leave by prune.
CREATE TABLE millrace.idempotency_keys (
  kind text NOT NULL,
  key text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
  -- SHA-256 of kind and payload as jsonb writes them. NULL once the job was erased: then any payload is a replay.
  fingerprint bytea,
  job_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When prune last saw that the key is still needed; so that it looks at each key once per retention and not at each tick.
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (kind, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX idempotency_keys_checked ON millrace.idempotency_keys (checked_at);
-- For erasure: the keys that lead to a job.
CREATE INDEX idempotency_keys_job ON millrace.idempotency_keys (job_id);

-- What `ctx.progress` says, of live jobs. A table of its own: written each second, it would bloat the one that claims read.
CREATE TABLE millrace.job_progress (
  id uuid PRIMARY KEY,
  fraction real NOT NULL CHECK (fraction BETWEEN 0 AND 1),
  note text CHECK (char_length(note) <= 500),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- Who intervened, written by the same statement as the intervention. Holds nothing of payloads, results or errors.
CREATE TABLE millrace.operator_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Name of the token, ARN of the principal, or the database's session_user.
  actor text NOT NULL DEFAULT session_user,
  action text NOT NULL CHECK (action IN ('cancel', 'redrive', 'erase', 'pause', 'resume')),
  -- `{"id": …}`, `{"queue": …}`, `{"kind": …}`, or the filter of a redrive.
  target jsonb NOT NULL,
  -- Jobs, queues or kinds that it changed.
  count int NOT NULL,
  request_id text
);
CREATE INDEX operator_log_at ON millrace.operator_log (at);
CREATE INDEX operator_log_request ON millrace.operator_log (request_id) WHERE request_id IS NOT NULL;

-- Progress is of the latest attempt: what an earlier one said is still shown while the job waits for the next, and hidden by its
-- claim, which costs the claim nothing. A processor that begins anew is not shown at the 80% of the one that failed.
CREATE OR REPLACE VIEW millrace.jobs AS
  SELECT id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, locked_until, run_at, created_at,
         started_at, NULL::timestamptz AS finished_at, cancel_requested_at, subject, idempotency_key, unique_key,
         concurrency_key, schedule_name, coalesce(errors, '[]') AS errors, NULL::jsonb AS result,
         (SELECT p.payload FROM millrace.payloads p WHERE p.id = j.id) AS payload,
         request_id, traceparent,
         (SELECT p.fraction FROM millrace.job_progress p WHERE p.id = j.id AND p.updated_at >= j.started_at) AS progress,
         (SELECT p.note FROM millrace.job_progress p WHERE p.id = j.id AND p.updated_at >= j.started_at) AS progress_note,
         (SELECT p.updated_at FROM millrace.job_progress p WHERE p.id = j.id AND p.updated_at >= j.started_at) AS progress_at
  FROM millrace.live_jobs j
  UNION ALL
  SELECT id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, NULL, run_at, created_at,
         started_at, finished_at, cancel_requested_at, subject, idempotency_key, unique_key,
         concurrency_key, schedule_name, coalesce(errors, '[]'), result,
         (SELECT p.payload FROM millrace.payloads p WHERE p.id = j.id),
         request_id, traceparent, NULL, NULL, NULL
  FROM millrace.finished_jobs j
  UNION ALL
  SELECT id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, NULL, run_at, created_at,
         started_at, finished_at, cancel_requested_at, subject, idempotency_key, unique_key,
         concurrency_key, schedule_name, coalesce(errors, '[]'), NULL, payload,
         request_id, traceparent, NULL, NULL, NULL
  FROM millrace.dead_jobs j;
