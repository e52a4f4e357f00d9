-- Why: payloads and finished jobs leave by the day (1M rows: 0.3 s and 0.2 MB of WAL, against 4.2 s and 592 MB by
-- DELETE, measured), and whatever a client's clock says, an id has a home: the oldest partition is open below, the newest
-- above. There is no DEFAULT partition: with one, each page of a listing would look into every partition.
-- Locks: creates new objects only; nothing that exists is locked.

-- Finds the few jobs that ended late in a day that is about to go, without reading the day. Costs an insert nothing
-- that could be measured, in time or in WAL.
CREATE INDEX finished_jobs_finished ON millrace.finished_jobs USING brin (finished_at) WITH (pages_per_range = 32);

-- The time in a version 7 id, to the millisecond.
CREATE FUNCTION millrace.uuidv7_time(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
  SELECT to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The partitions of a table in the order of their ids. NULL is an open end.
CREATE FUNCTION millrace.partitions(parent text) RETURNS TABLE (part regclass, lower uuid, upper uuid)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT c.oid::regclass, bound[1]::uuid, bound[2]::uuid
  FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN LATERAL regexp_match(
    pg_get_expr(c.relpartbound, c.oid),
    $re$FROM \((?:MINVALUE|'([-0-9a-f]+)')\) TO \((?:MAXVALUE|'([-0-9a-f]+)')\)$re$) AS bound
  WHERE i.inhparent = format('millrace.%I', parent)::regclass
  ORDER BY 2 NULLS FIRST
$$;

-- The bounds of a partition as a CHECK. With it, a later ATTACH with wider bounds need not read the rows.
CREATE FUNCTION millrace.partition_check(lower uuid, upper uuid) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT format('CONSTRAINT within_bounds CHECK (%s)',
                concat_ws(' AND ', 'id >= ' || quote_literal(lower::text), 'id < ' || quote_literal(upper::text)))
$$;

CREATE FUNCTION millrace.attach_partition(parent text, part text, lower uuid, upper uuid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  EXECUTE format('ALTER TABLE millrace.%I ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%s)', parent, part,
                 coalesce(quote_literal(lower::text), 'MINVALUE'), coalesce(quote_literal(upper::text), 'MAXVALUE'));
END
$$;

-- A table like its parent, indexes included, that is not attached yet. Returns its quoted name.
CREATE FUNCTION millrace.create_partition(parent text, suffix text, lower uuid, upper uuid) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  part text := format('millrace.%I', parent || '_' || suffix);
BEGIN
  -- Rows are only added and, late, deleted: analyze often enough for a table that grows by millions a day.
  EXECUTE format('CREATE TABLE %s (LIKE millrace.%I INCLUDING ALL, %s)
                  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
                        autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 1000)',
                 part, parent, millrace.partition_check(lower, upper));
  RETURN part;
END
$$;

-- Every change of bounds begins here: one try, at most 100 ms (lock_timeout of maintain_partitions), because whoever
-- comes after a waiting exclusive lock waits behind it. NOWAIT on the partitions keeps it at one try in all.
CREATE FUNCTION millrace.lock_partitions(parent text, VARIADIC parts regclass[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  part regclass;
BEGIN
  EXECUTE format('LOCK TABLE ONLY millrace.%I IN ACCESS EXCLUSIVE MODE', parent);
  FOREACH part IN ARRAY parts LOOP
    EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE NOWAIT', part);
  END LOOP;
END
$$;

-- Whether `rows` (FROM …) are few enough to move under the lock: at most 1,000 and 4 MB.
CREATE FUNCTION millrace.are_few(parent text, rows text, lower uuid, upper uuid, cutoff timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  bytes text := CASE parent
    WHEN 'payloads' THEN 'pg_column_size(payload)'
    ELSE 'coalesce(pg_column_size(result), 0) + coalesce(pg_column_size(errors), 0)'
  END;
  few boolean;
BEGIN
  EXECUTE format('SELECT count(*) <= 1000 AND coalesce(sum(bytes), 0) <= 4 * 1024 * 1024
                  FROM (SELECT %s AS bytes %s LIMIT 1001) t', bytes, rows)
  INTO few
  USING lower, upper, cutoff;
  RETURN few;
END
$$;

-- Partitions to cut, and where. Within `ahead` a partition is a day; beyond, about ten times as wide as it is far, so that
-- few empty ones cover decades. One that holds more than 8 MB (upkeep was away, or clocks are years ahead) would be read
-- under the lock: it stays as wide as it is.
CREATE FUNCTION millrace.wide_partitions(parent text, ahead interval)
RETURNS TABLE (part regclass, lower uuid, upper uuid, cut timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  WITH spans AS (
    SELECT p.part, p.lower, p.upper, millrace.uuidv7_time(p.lower) AS begins, millrace.uuidv7_time(p.upper) AS ends
    FROM millrace.partitions(parent) p
    WHERE p.lower IS NOT NULL AND p.upper IS NOT NULL
  ), cuts AS (
    SELECT s.*, CASE
      WHEN begins < now() + ahead THEN date_trunc('day', greatest(begins, now()), 'UTC') + interval '24 hours'
      WHEN ends - begins > 40 * (begins - now()) THEN date_trunc('day', begins + 10 * (begins - now()), 'UTC')
    END AS cut
    FROM spans s
  )
  SELECT c.part, c.lower, c.upper, c.cut
  FROM cuts c
  WHERE c.cut < c.ends AND pg_relation_size(c.part) <= 8 * 1024 * 1024
  ORDER BY c.lower
$$;

-- Cuts one partition in two and returns the new, later one; NULL if none is due. Rows above the cut, if a clock was ahead,
-- move to it.
CREATE FUNCTION millrace.split_ahead(parent text, ahead interval) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  wide record;
  cut uuid;
  later text;
BEGIN
  FOR wide IN SELECT * FROM millrace.wide_partitions(parent, ahead) LOOP
    cut := millrace.uuidv7_floor(wide.cut);
    CONTINUE WHEN NOT millrace.are_few(parent, format('FROM %s WHERE id >= $1', wide.part), cut, NULL, NULL);
    later := millrace.create_partition(parent, to_char(wide.cut AT TIME ZONE 'UTC', 'YYYYMMDD'), cut, wide.upper);
    PERFORM millrace.lock_partitions(parent, wide.part);
    EXECUTE format('ALTER TABLE millrace.%I DETACH PARTITION %s', parent, wide.part);
    EXECUTE format('WITH moved AS (DELETE FROM %s WHERE id >= $1 RETURNING *) INSERT INTO %s SELECT * FROM moved',
                   wide.part, later)
    USING cut;
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT within_bounds, ADD %s',
                   wide.part, millrace.partition_check(wide.lower, cut));
    PERFORM millrace.attach_partition(parent, wide.part::text, wide.lower, cut);
    PERFORM millrace.attach_partition(parent, later, cut, wide.upper);
    RETURN later;
  END LOOP;
  RETURN NULL;
END
$$;

-- Partitions whose every id is older than the cutoff, with the one before each. Payloads wait for the finished jobs of the
-- same days: what is left in the oldest partition then always has a job whose end (prune) takes its payload along.
CREATE FUNCTION millrace.old_partitions(parent text, cutoff timestamptz)
RETURNS TABLE (part regclass, lower uuid, upper uuid, before regclass, before_lower uuid)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
AS $$
  WITH neighbours AS (
    SELECT p.*, lag(p.part) OVER ordered AS before, lag(p.lower) OVER ordered AS before_lower
    FROM millrace.partitions(parent) p
    WINDOW ordered AS (ORDER BY p.lower NULLS FIRST)
  )
  SELECT n.part, n.lower, n.upper, n.before, n.before_lower
  FROM neighbours n
  WHERE n.before IS NOT NULL
    AND n.upper <= millrace.uuidv7_floor(cutoff)
    AND (parent <> 'payloads'
         OR n.upper <= (SELECT f.upper FROM millrace.partitions('finished_jobs') f WHERE f.lower IS NULL))
  ORDER BY n.lower
$$;

-- Tells the block range index of the rows that it does not know yet, so that what is read under the lock is little.
CREATE FUNCTION millrace.summarize_finished(part regclass) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp
AS $$
  SELECT brin_summarize_new_values(c.oid)
  FROM pg_index i
  JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_am a ON a.oid = c.relam
  WHERE i.indrelid = part AND a.amname = 'brin'
$$;

-- Drops one old partition and returns its name; NULL if there is none. The one before it takes over its range and the rows
-- that are still needed: jobs that ended after the cutoff, payloads of live jobs and of those. So one old job never keeps
-- a day; more than a thousand do, until they are fewer.
CREATE FUNCTION millrace.merge_old(parent text, cutoff timestamptz) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  old record;
  old_name text;
  needed text;
BEGIN
  FOR old IN SELECT * FROM millrace.old_partitions(parent, cutoff) LOOP
    IF parent = 'finished_jobs' THEN
      PERFORM millrace.summarize_finished(old.part);
      needed := format('FROM %s WHERE finished_at > $3', old.part);
    ELSE
      needed := format('FROM %s WHERE id = ANY (ARRAY(
                          SELECT id FROM millrace.live_jobs WHERE id >= $1 AND id < $2
                          UNION ALL
                          SELECT id FROM millrace.finished_jobs WHERE id >= $1 AND id < $2))', old.part);
    END IF;
    CONTINUE WHEN NOT millrace.are_few(parent, needed, old.lower, old.upper, cutoff);
    old_name := old.part::text;
    -- Reads the rows that the last merge added, if any; hinders neither readers nor writers.
    EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT within_bounds', old.before);
    PERFORM millrace.lock_partitions(parent, old.before, old.part);
    EXECUTE format('ALTER TABLE millrace.%I DETACH PARTITION %s', parent, old.part);
    EXECUTE format('ALTER TABLE millrace.%I DETACH PARTITION %s', parent, old.before);
    PERFORM millrace.attach_partition(parent, old.before::text, old.before_lower, old.upper);
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT within_bounds, ADD %s NOT VALID',
                   old.before, millrace.partition_check(old.before_lower, old.upper));
    EXECUTE format('INSERT INTO %s SELECT * %s', old.before, needed) USING old.lower, old.upper, cutoff;
    EXECUTE format('DROP TABLE %s', old.part);
    RETURN old_name;
  END LOOP;
  RETURN NULL;
END
$$;

-- One step of upkeep for each table: a cut ahead if one is due, else one old partition merged away. Call it until it answers
-- nothing. `keep` counts from a job's creation, but what ended within it stays, and so do the payloads of live jobs.
-- `postponed`: somebody (a long transaction, a vacuum) holds a lock; nothing was changed there, the next call tries again.
-- Guarantee: nobody waits longer for it than the 100 ms of its try and the move of a thousand rows.
CREATE FUNCTION millrace.maintain_partitions(keep interval, ahead interval, parent text DEFAULT NULL)
RETURNS TABLE (created text[], dropped text[], postponed boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '100ms'
-- The block range index is right however old the statistics are.
SET enable_seqscan = off
AS $$
DECLARE
  parents text[] := CASE WHEN parent IS NULL THEN ARRAY['finished_jobs', 'payloads'] ELSE ARRAY[parent] END;
  part text;
BEGIN
  IF keep < interval '1 day' OR ahead < interval '1 day' OR NOT parents <@ ARRAY['finished_jobs', 'payloads'] THEN
    RAISE EXCEPTION 'maintain_partitions takes keep and ahead from 1 day, and finished_jobs or payloads; got %, %, %',
      keep, ahead, parent USING ERRCODE = 'invalid_parameter_value';
  END IF;
  -- A snapshot from before the lock would not see rows committed while we waited for it: they would be dropped unseen.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'maintain_partitions runs in READ COMMITTED, not in %', current_setting('transaction_isolation')
      USING ERRCODE = 'active_sql_transaction';
  END IF;
  created := '{}';
  dropped := '{}';
  -- Two at once would each act on bounds that the other has just changed. The numbers are only ours.
  postponed := NOT pg_try_advisory_xact_lock(7236834, 1);
  IF NOT postponed THEN
    FOREACH parent IN ARRAY parents LOOP
      BEGIN
        part := millrace.split_ahead(parent, ahead);
        IF part IS NOT NULL THEN
          created := created || part;
        ELSE
          part := millrace.merge_old(parent, now() - keep);
          dropped := array_cat(dropped, array_remove(ARRAY[part], NULL));
        END IF;
      EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        postponed := true;
      END;
    END LOOP;
  END IF;
  RETURN NEXT;
END
$$;
-- It runs with its owner's rights: who may call it is said by name.
REVOKE ALL ON FUNCTION millrace.maintain_partitions(interval, interval, text) FROM PUBLIC;

-- From the first minute: everything before today, today and some days, ever wider ones to the year 2100, everything after.
-- What lies beyond 2100 is nearly all there is of ids that are not of version 7: apart, they are in no day's way.
DO $$
DECLARE
  today uuid := millrace.uuidv7_floor(date_trunc('day', now(), 'UTC'));
  beyond uuid := millrace.uuidv7_floor('2100-01-01Z');
  parent text;
BEGIN
  FOREACH parent IN ARRAY ARRAY['finished_jobs', 'payloads'] LOOP
    PERFORM millrace.attach_partition(parent, millrace.create_partition(parent, 'oldest', NULL, today), NULL, today);
    PERFORM millrace.attach_partition(
      parent, millrace.create_partition(parent, to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD'), today, beyond), today, beyond);
    PERFORM millrace.attach_partition(parent, millrace.create_partition(parent, 'newest', beyond, NULL), beyond, NULL);
    WHILE millrace.split_ahead(parent, interval '3 days') IS NOT NULL LOOP
    END LOOP;
  END LOOP;
END
$$;
