-- Why: one function puts a job in, from any language, inside the caller's own transaction.
-- Locks: creates a function; nothing that exists is locked.

-- Returns the job's id. Given an `id` that is taken, it changes nothing and returns that id: a resend is harmless.
-- A payload of NULL is JSON's null. Raises check_violation (23514) for a kind, queue, priority, max_attempts, subject or
-- run_at outside its bounds, and for a payload of more than 4 MiB as text.
CREATE FUNCTION millrace.enqueue(
  kind text,
  payload jsonb,
  run_at timestamptz DEFAULT NULL,
  priority int DEFAULT 0,
  queue text DEFAULT 'default',
  subject text DEFAULT NULL,
  max_attempts int DEFAULT 5,
  id uuid DEFAULT NULL
) RETURNS uuid
LANGUAGE plpgsql VOLATILE
AS $$
#variable_conflict use_column
DECLARE
  new_id uuid := coalesce(enqueue.id, millrace.uuidv7());
BEGIN
  -- payloads keeps the id of every job but the dead, so this conflict tells a resend, also of a job long finished.
  INSERT INTO millrace.payloads (id, payload) VALUES (new_id, coalesce(enqueue.payload, 'null'))
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN new_id;
  END IF;
  -- A dead job outlives its payload. Two jobs of one id could be neither redriven nor buried, and would stop the reaper.
  IF enqueue.id IS NOT NULL AND EXISTS (SELECT FROM millrace.dead_jobs d WHERE d.id = enqueue.id) THEN
    DELETE FROM millrace.payloads p WHERE p.id = enqueue.id;
    RETURN new_id;
  END IF;
  INSERT INTO millrace.live_jobs (id, kind, queue, priority, max_attempts, subject, payload_bytes, run_at)
  VALUES (new_id, enqueue.kind, enqueue.queue, least(greatest(enqueue.priority, -99), 99), enqueue.max_attempts,
          enqueue.subject, octet_length(coalesce(enqueue.payload, 'null')::text),
          greatest(enqueue.run_at, clock_timestamp()));
  INSERT INTO millrace.counter_deltas (kind, event, n) VALUES (enqueue.kind, 'enqueued', 1);
  RETURN new_id;
END
$$;
