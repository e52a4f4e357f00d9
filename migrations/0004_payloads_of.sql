-- Why: Postgres 18.4 crashes, the whole server with it, when a statement that locks rows in a LATERAL and updates them
-- meets a row that another has just changed, and then looks into a partitioned table (docs/decisions/0004). So statements
-- that claim or settle read payloads through this function, which is a statement of its own to the server.
-- Locks: creates a function; nothing that exists is locked.

-- One row for each id; payload is NULL if there is none. Its plan is kept by the session, so it must not be one that was
-- made while a partition was empty: without enable_seqscan it always goes by the primary key. VOLATILE, so that it sees
-- what is committed now: a payload that upkeep moved since the calling statement began would be NULL, and lost by a bury.
CREATE FUNCTION millrace.payloads_of(ids uuid[]) RETURNS TABLE (id uuid, payload jsonb)
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
  IF cardinality(ids) > 0 THEN
    RETURN QUERY
      SELECT i.id, (SELECT p.payload FROM millrace.payloads p WHERE p.id = i.id)
      FROM unnest(ids) i(id);
  END IF;
END
$$;
