-- Why: a page of a subject that has jobs of many kinds cost each of its kinds a probe in each partition: 7,800 pages and 21 ms
-- for 50 kinds over a week (measured: docs/decisions/0008), and more with each day that is kept. Now it is looked for among some
-- jobs of the subject and among the newest of each table, as is a page of one status of live jobs. If that does not fill it, days
-- are gone through from the newest on until the page is full, in ever larger steps. And what one table has bounds what is read of
-- the next.
-- Locks: none, but for the catalogue rows of two functions. They take and answer the same as before.

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
  -- Where kinds would have to be stepped through, `glance` jobs of a table are read first: any of the subject, since most have
  -- fewer; else the newest. NULL stands for each that the filter does not fit. They will do if they fill the page, or if there
  -- are no others.
  newest uuid[];
  glance int := 4 * wanted;
  -- The newest so far; once there are as many as are wanted, nothing older than the last of them matters.
  ids uuid[] := '{}';
  low uuid := page.last;
BEGIN
  IF live <> '{}' THEN
    IF page.kind IS NULL AND page.subject IS NOT NULL THEN
      newest := ARRAY(
        SELECT CASE WHEN j.status = ANY (live) AND j.id BETWEEN low AND page.first THEN j.id END
        FROM millrace.live_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
        ORDER BY j.subject, j.kind
        LIMIT glance
      );
    END IF;
    IF cardinality(newest) = glance OR page.kind IS NULL AND page.subject IS NULL AND cardinality(live) = 1 THEN
      newest := ARRAY(
        SELECT CASE WHEN j.status = ANY (live) AND (page.subject IS NULL OR j.subject = page.subject) THEN j.id END
        FROM millrace.live_jobs j
        WHERE j.id BETWEEN low AND page.first
        ORDER BY j.id DESC
        LIMIT glance
      );
    END IF;
    ids := ARRAY(SELECT i.id FROM unnest(array_remove(newest, NULL)) i(id) ORDER BY i.id DESC LIMIT page.wanted);
    IF cardinality(ids) = page.wanted OR cardinality(newest) < glance THEN
      NULL;
    ELSIF page.subject IS NOT NULL THEN
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
    newest := NULL;
    IF page.subject IS NOT NULL AND page.kind IS NULL THEN
      newest := ARRAY(
        SELECT CASE WHEN j.id BETWEEN low AND page.first THEN j.id END
        FROM millrace.dead_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
        ORDER BY j.subject, j.kind
        LIMIT glance
      );
    END IF;
    IF cardinality(newest) = glance THEN
      newest := ARRAY(
        SELECT CASE WHEN j.subject = page.subject THEN j.id END
        FROM millrace.dead_jobs j
        WHERE j.id BETWEEN low AND page.first
        ORDER BY j.id DESC
        LIMIT glance
      );
    END IF;
    IF cardinality(array_remove(newest, NULL)) >= page.wanted OR cardinality(newest) < glance THEN
      ids := ids || array_remove(newest, NULL);
    ELSIF page.subject IS NOT NULL THEN
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

  newest := NULL;
  IF finished <> '{}' AND page.subject IS NOT NULL AND page.kind IS NULL THEN
    newest := ARRAY(
      SELECT CASE WHEN j.status = ANY (finished) AND j.id BETWEEN low AND page.first THEN j.id END
      FROM millrace.finished_jobs j
      WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
      ORDER BY j.subject, j.kind
      LIMIT glance
    );
    IF cardinality(newest) < glance THEN
      NULL;
    ELSIF cardinality(finished) = 1 THEN
      newest := ARRAY(
        SELECT CASE WHEN j.subject = page.subject THEN j.id END
        FROM millrace.finished_jobs j
        WHERE j.status = ANY (ARRAY[finished[1]]) AND j.id BETWEEN low AND page.first
        ORDER BY j.status DESC, j.id DESC
        LIMIT glance
      );
    ELSE
      newest := ARRAY(
        SELECT CASE WHEN j.subject = page.subject THEN j.id END
        FROM millrace.finished_jobs j
        WHERE j.id BETWEEN low AND page.first
        ORDER BY j.id DESC
        LIMIT glance
      );
    END IF;
  END IF;
  IF finished = '{}' THEN
    NULL;
  ELSIF cardinality(array_remove(newest, NULL)) >= page.wanted OR cardinality(newest) < glance THEN
    ids := ids || array_remove(newest, NULL);
  ELSIF page.subject IS NOT NULL AND page.kind IS NULL THEN
    -- Partitions ahead of today, then today's, then two, four, …. Kinds, and how jobs of each ended, are stepped through over
    -- whole partitions, so that the bounds only have to choose these. OR keeps the bounds out of the index: there they would be
    -- compared with each entry of a page (measured: docs/decisions/0008).
    FOR days IN
      SELECT min(p.lower COLLATE "C")::uuid AS lowest, max(p.upper COLLATE "C")::uuid AS highest
      FROM (
        SELECT bounds.lower, bounds.upper,
               count(*) FILTER (WHERE bounds.lower::uuid <= millrace.uuidv7_floor(now()))
                 OVER (ORDER BY bounds.lower COLLATE "C" DESC) AS nth
        FROM (
          SELECT bound[2] AS lower, replace(bound[4], '-8000-000000000000', '-7fff-ffffffffffff') AS upper
          FROM pg_inherits i
          JOIN pg_class c ON c.oid = i.inhrelid
          -- FOR VALUES FROM ('…') TO ('…'); an open end is a word.
          CROSS JOIN LATERAL string_to_array(
            replace(replace(pg_get_expr(c.relpartbound, c.oid),
                            'MINVALUE', $id$'00000000-0000-0000-0000-000000000000'$id$),
                    'MAXVALUE', $id$'ffffffff-ffff-ffff-ffff-ffffffffffff'$id$), '''') AS bound
          WHERE i.inhparent = 'millrace.finished_jobs'::regclass
        ) bounds
        WHERE bounds.lower::uuid <= page.first AND bounds.upper::uuid >= low
      ) p
      GROUP BY width_bucket(p.nth, '{1,2,4,8,16,32,64,128,256,512,1024,2048}'::bigint[])
      ORDER BY lowest DESC
    LOOP
      EXIT WHEN days.highest < low;
      ids := ids || ARRAY(
        WITH RECURSIVE ends AS (
          SELECT '' AS kind, '' AS status
          UNION ALL
          SELECT next.kind, next.status
          FROM ends e
          CROSS JOIN LATERAL (
            SELECT j.kind, j.status::text
            FROM millrace.finished_jobs j
            WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
              AND (j.kind, j.status) > (e.kind, e.status)
              AND (j.id >= days.lowest OR j.id IS NULL) AND (j.id <= days.highest OR j.id IS NULL)
            ORDER BY j.subject, j.kind, j.status
            LIMIT 1
          ) next
        )
        SELECT near.id
        FROM ends e
        CROSS JOIN LATERAL (
          SELECT j.id
          FROM millrace.finished_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
            AND j.kind = e.kind AND j.status = e.status
            AND j.id BETWEEN greatest(low, days.lowest) AND least(page.first, days.highest)
          ORDER BY j.subject DESC, j.id DESC
          LIMIT page.wanted
        ) near
        WHERE e.status = ANY (finished)
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
  few text[];
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
      -- Any of the subject first, as for a page: most have fewer, and then these are all.
      few := ARRAY(
        SELECT CASE WHEN j.id BETWEEN counts.last AND counts.first THEN j.status END
        FROM millrace.finished_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
        ORDER BY j.subject, j.kind
        LIMIT counts.most / 10
      );
      IF cardinality(few) < most / 10 THEN
        found := ARRAY(
          SELECT cardinality(array_positions(few, s.status))
          FROM unnest(finished) WITH ORDINALITY s(status, nth)
          ORDER BY s.nth
        );
      ELSE
        FOR days IN
          SELECT min(p.lower COLLATE "C")::uuid AS lowest, max(p.upper COLLATE "C")::uuid AS highest
          FROM (
            SELECT bounds.lower, bounds.upper,
                   count(*) FILTER (WHERE bounds.lower::uuid <= millrace.uuidv7_floor(now()))
                     OVER (ORDER BY bounds.lower COLLATE "C" DESC) AS nth
            FROM (
              SELECT bound[2] AS lower, replace(bound[4], '-8000-000000000000', '-7fff-ffffffffffff') AS upper
              FROM pg_inherits i
              JOIN pg_class c ON c.oid = i.inhrelid
              -- FOR VALUES FROM ('…') TO ('…'); an open end is a word.
              CROSS JOIN LATERAL string_to_array(
                replace(replace(pg_get_expr(c.relpartbound, c.oid),
                                'MINVALUE', $id$'00000000-0000-0000-0000-000000000000'$id$),
                        'MAXVALUE', $id$'ffffffff-ffff-ffff-ffff-ffffffffffff'$id$), '''') AS bound
              WHERE i.inhparent = 'millrace.finished_jobs'::regclass
            ) bounds
            WHERE bounds.lower::uuid <= counts.first AND bounds.upper::uuid >= counts.last
          ) p
          GROUP BY width_bucket(p.nth, '{1,2,4,8,16,32,64,128,256,512,1024,2048}'::bigint[])
          ORDER BY lowest DESC
        LOOP
          found := ARRAY(
            WITH RECURSIVE ends AS (
              SELECT '' AS kind, '' AS status
              UNION ALL
              SELECT next.kind, next.status
              FROM ends e
              CROSS JOIN LATERAL (
                SELECT j.kind, j.status::text
                FROM millrace.finished_jobs j
                WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
                  AND (j.kind, j.status) > (e.kind, e.status)
                  AND (j.id >= days.lowest OR j.id IS NULL) AND (j.id <= days.highest OR j.id IS NULL)
                ORDER BY j.subject, j.kind, j.status
                LIMIT 1
              ) next
            )
            SELECT least(counts.most, s.n + (
              SELECT count(*)
              FROM (
                SELECT
                FROM ends e
                CROSS JOIN LATERAL (
                  SELECT
                  FROM millrace.finished_jobs j
                  WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
                    AND j.kind = e.kind AND j.status = e.status
                    AND j.id BETWEEN greatest(counts.last, days.lowest) AND least(counts.first, days.highest)
                  ORDER BY j.subject, j.id
                  LIMIT counts.most
                ) those
                WHERE e.status = s.status
                LIMIT counts.most - s.n
              ) counted
            ))
            FROM unnest(finished, found) WITH ORDINALITY s(status, n, nth)
            ORDER BY s.nth
          );
          EXIT WHEN counts.most = ALL (found);
        END LOOP;
      END IF;
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
