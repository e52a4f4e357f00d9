-- Why: a page of a subject that has jobs of many kinds cost each of its kinds a probe in each partition: 7,800 pages and 19 ms
-- for 50 kinds over a week (measured), and more with each day that is kept. Now days are gone through from the newest on until
-- the page is full, in ever larger steps, and what one table has bounds what is read of the next. And a page of one status of
-- live jobs is looked for among the newest first, whatever the number of their kinds.
-- Locks: none, but for the catalogue rows of two functions. They take and answer what they did.

-- Ids among which are the newest `wanted` jobs from `first` down to `last`, both included: see functions/queue/list.ts. NULL
-- for `statuses`, `kind` or `subject`: any. What keeps each probe short is said in 0010.
CREATE OR REPLACE FUNCTION millrace.page(first uuid, last uuid, wanted int, statuses text[], kind text, subject text)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 100 SET plan_cache_mode = force_generic_plan SET jit = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  live text[] := ARRAY(SELECT s FROM unnest('{pending,processing}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  finished text[] := ARRAY(SELECT s FROM unnest('{completed,cancelled}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  dead text[] := ARRAY(SELECT s FROM unnest('{dead}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  kinds text[];
  days record;
  -- The newest so far; once there are as many as are wanted, nothing older than the last of them matters.
  ids uuid[] := '{}';
  low uuid := page.last;
BEGIN
  IF live <> '{}' THEN
    IF page.subject IS NOT NULL THEN
      kinds := CASE WHEN page.kind IS NOT NULL THEN ARRAY[page.kind] ELSE millrace.kinds_of(page.subject, live) END;
      ids := ARRAY(
        SELECT near.id
        FROM unnest(kinds) k(kind)
        CROSS JOIN unnest(live) s(status)
        CROSS JOIN LATERAL (
          SELECT j.id
          FROM millrace.live_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
            AND j.kind = k.kind AND j.status = s.status AND j.id BETWEEN low AND page.first
          ORDER BY j.subject DESC, j.id DESC
          LIMIT page.wanted
        ) near
        ORDER BY near.id DESC
        LIMIT page.wanted
      );
    ELSIF page.kind IS NOT NULL THEN
      ids := ARRAY(
        SELECT near.id
        FROM unnest(live) s(status)
        CROSS JOIN LATERAL (
          SELECT j.id
          FROM millrace.live_jobs j
          WHERE j.kind = ANY (ARRAY[page.kind]) AND j.status = s.status AND j.id BETWEEN low AND page.first
          ORDER BY j.kind DESC, j.id DESC
          LIMIT page.wanted
        ) near
        ORDER BY near.id DESC
        LIMIT page.wanted
      );
    ELSIF cardinality(live) = 1 THEN
      -- Mostly the newest jobs have that status. If they do not, each kind is asked for its own.
      ids := ARRAY(
        SELECT newest.id
        FROM (
          SELECT j.id, j.status
          FROM millrace.live_jobs j
          WHERE j.id BETWEEN low AND page.first
          ORDER BY j.id DESC
          LIMIT 4 * page.wanted
        ) newest
        WHERE newest.status = live[1]
        LIMIT page.wanted
      );
      IF cardinality(ids) < wanted THEN
        ids := ARRAY(
          SELECT near.id
          FROM unnest(millrace.kinds_of(NULL, live)) k(kind)
          CROSS JOIN LATERAL (
            SELECT j.id
            FROM millrace.live_jobs j
            WHERE j.kind = ANY (ARRAY[k.kind]) AND j.status = live[1] AND j.id BETWEEN low AND page.first
            ORDER BY j.kind DESC, j.id DESC
            LIMIT page.wanted
          ) near
          ORDER BY near.id DESC
          LIMIT page.wanted
        );
      END IF;
    ELSE
      ids := ARRAY(
        SELECT j.id
        FROM millrace.live_jobs j
        WHERE j.id BETWEEN low AND page.first
        ORDER BY j.id DESC
        LIMIT page.wanted
      );
    END IF;
    low := coalesce(ids[wanted], page.last);
  END IF;

  IF dead <> '{}' THEN
    IF page.subject IS NOT NULL THEN
      kinds := CASE WHEN page.kind IS NOT NULL THEN ARRAY[page.kind] ELSE millrace.kinds_of(page.subject, dead) END;
      ids := ids || ARRAY(
        SELECT near.id
        FROM unnest(kinds) k(kind)
        CROSS JOIN LATERAL (
          SELECT j.id
          FROM millrace.dead_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
            AND j.kind = k.kind AND j.id BETWEEN low AND page.first
          ORDER BY j.subject DESC, j.id DESC
          LIMIT page.wanted
        ) near
      );
    ELSIF page.kind IS NOT NULL THEN
      ids := ids || ARRAY(
        SELECT j.id
        FROM millrace.dead_jobs j
        WHERE j.kind = ANY (ARRAY[page.kind]) AND j.id BETWEEN low AND page.first
        ORDER BY j.kind DESC, j.id DESC
        LIMIT page.wanted
      );
    ELSE
      ids := ids || ARRAY(
        SELECT j.id
        FROM millrace.dead_jobs j
        WHERE j.id BETWEEN low AND page.first
        ORDER BY j.id DESC
        LIMIT page.wanted
      );
    END IF;
    ids := ARRAY(SELECT i.id FROM unnest(ids) i(id) ORDER BY i.id DESC LIMIT page.wanted);
    low := coalesce(ids[wanted], page.last);
  END IF;

  IF finished = '{}' THEN
    NULL;
  ELSIF page.subject IS NOT NULL AND page.kind IS NULL THEN
    -- Those ahead, today's, then two, four, …. Kinds are stepped through where whole partitions are read:
    -- the bounds choose them, and never have to be looked for within one.
    FOR days IN
      SELECT min(p.lower COLLATE "C")::uuid AS lowest, max(p.upper COLLATE "C")::uuid AS highest
      FROM (
        SELECT bounds.lower, bounds.upper,
               count(*) FILTER (WHERE bounds.lower::uuid <= millrace.uuidv7_floor(now()))
                 OVER (ORDER BY bounds.lower COLLATE "C" DESC) AS nth
        FROM (
          SELECT coalesce(bound[1], '00000000-0000-0000-0000-000000000000') AS lower,
                 coalesce(replace(bound[2], '-8000-000000000000', '-7fff-ffffffffffff'),
                          'ffffffff-ffff-ffff-ffff-ffffffffffff') AS upper
          FROM pg_inherits i
          JOIN pg_class c ON c.oid = i.inhrelid
          CROSS JOIN LATERAL regexp_match(
            pg_get_expr(c.relpartbound, c.oid),
            $re$FROM \((?:MINVALUE|'([-0-9a-f]+)')\) TO \((?:MAXVALUE|'([-0-9a-f]+)')\)$re$) AS bound
          WHERE i.inhparent = 'millrace.finished_jobs'::regclass
        ) bounds
        WHERE bounds.lower::uuid <= page.first AND bounds.upper::uuid >= low
      ) p
      GROUP BY width_bucket(p.nth, '{1,2,4,8,16,32,64,128,256,512,1024,2048}'::bigint[])
      ORDER BY lowest DESC
    LOOP
      EXIT WHEN days.highest < low;
      ids := ids || ARRAY(
        WITH RECURSIVE kinds AS (
          SELECT '' AS kind
          UNION ALL
          SELECT (
            SELECT j.kind
            FROM millrace.finished_jobs j
            WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject]) AND j.kind > k.kind
              AND j.id BETWEEN days.lowest AND days.highest
            ORDER BY j.subject, j.kind
            LIMIT 1
          )
          FROM kinds k
          WHERE k.kind IS NOT NULL
        )
        SELECT near.id
        FROM kinds k
        CROSS JOIN unnest(finished) s(status)
        CROSS JOIN LATERAL (
          SELECT j.id
          FROM millrace.finished_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
            AND j.kind = k.kind AND j.status = s.status
            AND j.id BETWEEN greatest(low, days.lowest) AND least(page.first, days.highest)
          ORDER BY j.subject DESC, j.id DESC
          LIMIT page.wanted
        ) near
        WHERE k.kind <> ''
      );
      ids := ARRAY(SELECT i.id FROM unnest(ids) i(id) ORDER BY i.id DESC LIMIT page.wanted);
      low := coalesce(ids[wanted], page.last);
    END LOOP;
  ELSIF page.subject IS NOT NULL THEN
    ids := ids || ARRAY(
      SELECT near.id
      FROM unnest(finished) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.finished_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
          AND j.kind = page.kind AND j.status = s.status AND j.id BETWEEN low AND page.first
        ORDER BY j.subject DESC, j.id DESC
        LIMIT page.wanted
      ) near
    );
  ELSIF page.kind IS NOT NULL THEN
    ids := ids || ARRAY(
      SELECT near.id
      FROM unnest(finished) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.finished_jobs j
        WHERE j.kind = ANY (ARRAY[page.kind]) AND j.status = s.status AND j.id BETWEEN low AND page.first
        ORDER BY j.kind DESC, j.id DESC
        LIMIT page.wanted
      ) near
    );
  ELSIF cardinality(finished) = 1 THEN
    ids := ids || ARRAY(
      SELECT near.id
      FROM unnest(finished) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.finished_jobs j
        WHERE j.status = ANY (ARRAY[s.status]) AND j.id BETWEEN low AND page.first
        ORDER BY j.status DESC, j.id DESC
        LIMIT page.wanted
      ) near
    );
  ELSE
    ids := ids || ARRAY(
      SELECT j.id
      FROM millrace.finished_jobs j
      WHERE j.id BETWEEN low AND page.first
      ORDER BY j.id DESC
      LIMIT page.wanted
    );
  END IF;
  RETURN QUERY SELECT unnest(ids);
END
$$;

-- How many jobs there are from `first` down to `last`, by status, each counted up to `most` and no further: see
-- functions/queue/counts.ts.
CREATE OR REPLACE FUNCTION millrace.counts(first uuid, last uuid, most int, statuses text[], kind text, subject text)
RETURNS TABLE (status text, n int)
LANGUAGE plpgsql STABLE ROWS 5 SET plan_cache_mode = force_generic_plan SET jit = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  live text[] := ARRAY(SELECT s FROM unnest('{pending,processing}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  finished text[] := ARRAY(SELECT s FROM unnest('{completed,cancelled}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  dead text[] := ARRAY(SELECT s FROM unnest('{dead}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  kinds text[] := CASE
    WHEN counts.kind IS NOT NULL THEN ARRAY[counts.kind]
    WHEN live <> '{}' THEN millrace.kinds_of(counts.subject, live)
  END;
  days record;
  found int[] := array_fill(0, ARRAY[cardinality(finished)]);
BEGIN
  IF counts.subject IS NOT NULL THEN
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM unnest(kinds) k(kind)
          CROSS JOIN LATERAL (
            SELECT
            FROM millrace.live_jobs j
            WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
              AND j.kind = k.kind AND j.status = s.status AND j.id BETWEEN counts.last AND counts.first
            ORDER BY j.subject, j.id
            LIMIT counts.most
          ) those
          LIMIT counts.most
        ) counted
      )
      FROM unnest(live) s(status);
    IF finished = '{}' THEN
      NULL;
    ELSIF counts.kind IS NOT NULL THEN
      RETURN QUERY
        SELECT s.status, (
          SELECT count(*)::int
          FROM (
            SELECT
            FROM millrace.finished_jobs j
            WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
              AND j.kind = counts.kind AND j.status = s.status AND j.id BETWEEN counts.last AND counts.first
            ORDER BY j.subject, j.id
            LIMIT counts.most
          ) counted
        )
        FROM unnest(finished) s(status);
    ELSE
      -- As for a page.
      FOR days IN
        SELECT min(p.lower COLLATE "C")::uuid AS lowest, max(p.upper COLLATE "C")::uuid AS highest
        FROM (
          SELECT bounds.lower, bounds.upper,
                 count(*) FILTER (WHERE bounds.lower::uuid <= millrace.uuidv7_floor(now()))
                   OVER (ORDER BY bounds.lower COLLATE "C" DESC) AS nth
          FROM (
            SELECT coalesce(bound[1], '00000000-0000-0000-0000-000000000000') AS lower,
                   coalesce(replace(bound[2], '-8000-000000000000', '-7fff-ffffffffffff'),
                            'ffffffff-ffff-ffff-ffff-ffffffffffff') AS upper
            FROM pg_inherits i
            JOIN pg_class c ON c.oid = i.inhrelid
            CROSS JOIN LATERAL regexp_match(
              pg_get_expr(c.relpartbound, c.oid),
              $re$FROM \((?:MINVALUE|'([-0-9a-f]+)')\) TO \((?:MAXVALUE|'([-0-9a-f]+)')\)$re$) AS bound
            WHERE i.inhparent = 'millrace.finished_jobs'::regclass
          ) bounds
          WHERE bounds.lower::uuid <= counts.first AND bounds.upper::uuid >= counts.last
        ) p
        GROUP BY width_bucket(p.nth, '{1,2,4,8,16,32,64,128,256,512,1024,2048}'::bigint[])
        ORDER BY lowest DESC
      LOOP
        found := ARRAY(
          WITH RECURSIVE kinds AS (
            SELECT '' AS kind
            UNION ALL
            SELECT (
              SELECT j.kind
              FROM millrace.finished_jobs j
              WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject]) AND j.kind > k.kind
                AND j.id BETWEEN days.lowest AND days.highest
              ORDER BY j.subject, j.kind
              LIMIT 1
            )
            FROM kinds k
            WHERE k.kind IS NOT NULL
          )
          SELECT least(counts.most, s.n + (
            SELECT count(*)
            FROM (
              SELECT
              FROM kinds k
              CROSS JOIN LATERAL (
                SELECT
                FROM millrace.finished_jobs j
                WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
                  AND j.kind = k.kind AND j.status = s.status
                  AND j.id BETWEEN greatest(counts.last, days.lowest) AND least(counts.first, days.highest)
                ORDER BY j.subject, j.id
                LIMIT counts.most
              ) those
              WHERE k.kind <> ''
              LIMIT counts.most - s.n
            ) counted
          ))
          FROM unnest(finished, found) WITH ORDINALITY s(status, n, nth)
          ORDER BY s.nth
        );
        EXIT WHEN counts.most = ALL (found);
      END LOOP;
      RETURN QUERY SELECT * FROM unnest(finished, found);
    END IF;
    kinds := CASE
      WHEN counts.kind IS NOT NULL THEN ARRAY[counts.kind]
      WHEN dead <> '{}' THEN millrace.kinds_of(counts.subject, dead)
    END;
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM unnest(kinds) k(kind)
          CROSS JOIN LATERAL (
            SELECT
            FROM millrace.dead_jobs j
            WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
              AND j.kind = k.kind AND j.id BETWEEN counts.last AND counts.first
            ORDER BY j.subject, j.id
            LIMIT counts.most
          ) those
          LIMIT counts.most
        ) counted
      )
      FROM unnest(dead) s(status);
    RETURN;
  END IF;
  RETURN QUERY
    SELECT s.status, (
      SELECT count(*)::int
      FROM (
        SELECT
        FROM unnest(kinds) k(kind)
        CROSS JOIN LATERAL (
          SELECT
          FROM millrace.live_jobs j
          WHERE j.kind = ANY (ARRAY[k.kind]) AND j.status = s.status AND j.id BETWEEN counts.last AND counts.first
          ORDER BY j.kind, j.id
          LIMIT counts.most
        ) those
        LIMIT counts.most
      ) counted
    )
    FROM unnest(live) s(status);
  IF counts.kind IS NOT NULL THEN
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM millrace.finished_jobs j
          WHERE j.kind = ANY (ARRAY[counts.kind]) AND j.status = s.status AND j.id BETWEEN counts.last AND counts.first
          ORDER BY j.kind, j.id
          LIMIT counts.most
        ) counted
      )
      FROM unnest(finished) s(status);
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM millrace.dead_jobs j
          WHERE j.kind = ANY (ARRAY[counts.kind]) AND j.id BETWEEN counts.last AND counts.first
          ORDER BY j.kind, j.id
          LIMIT counts.most
        ) counted
      )
      FROM unnest(dead) s(status);
  ELSE
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM millrace.finished_jobs j
          WHERE j.status = ANY (ARRAY[s.status]) AND j.id BETWEEN counts.last AND counts.first
          ORDER BY j.status, j.id
          LIMIT counts.most
        ) counted
      )
      FROM unnest(finished) s(status);
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM millrace.dead_jobs j
          WHERE j.id BETWEEN counts.last AND counts.first
          ORDER BY j.id
          LIMIT counts.most
        ) counted
      )
      FROM unnest(dead) s(status);
  END IF;
END
$$;
