-- Why: what a subject has is found also when it is of one kind or status among 100,000 others. And pages and counts are
-- functions, which keep their plans for as long as the session lasts: over 17 partitions a page takes 3 to 8 ms if it is
-- planned at each call, of which 1 ms goes into reading it (measured).
-- Locks: SHARE on live_jobs, finished_jobs and dead_jobs while their indexes are made, about 3 s for each million jobs that
-- have a subject (writes wait, reads do not), then ACCESS EXCLUSIVE for an instant.

CREATE INDEX live_jobs_of_subject ON millrace.live_jobs (subject, kind, status, id) WHERE subject IS NOT NULL;
CREATE INDEX finished_jobs_of_subject ON millrace.finished_jobs (subject, kind, status, id) WHERE subject IS NOT NULL;
CREATE INDEX dead_jobs_of_subject ON millrace.dead_jobs (subject, kind, id) WHERE subject IS NOT NULL;
DROP INDEX millrace.live_jobs_subject;
DROP INDEX millrace.finished_jobs_subject;
DROP INDEX millrace.dead_jobs_subject;

/*
 * What keeps the functions below at the cost of what they answer, with any statistics, whatever the tables hold:
 * - each probe is a range of one index, read in its order and no further than it is wanted
 * - the range's first column is compared as `= ANY (ARRAY[…])`, and sorted by. After `kind = …` the order would be that of the
 *   id alone: the planner could take the primary key and hope to meet such jobs soon, which takes the whole table when all
 *   of them are old. Two row comparisons would not do: before Postgres 18 a scan does not end where the second one fails
 * - without sorts that index is the only way to the order. One plan for all values, and no JIT, which would compile it anew
 * - where no index begins with what is given, kinds are stepped through and probed one by one: for a status in live_jobs,
 *   where every claim would have to write that index, and for a subject. It costs some pages a kind, and a partition
 * - all of it is read in the snapshot of the calling statement, so that a job on the move is seen once
 * They are changed only by new functions of other names: code of the release before calls these.
 */

-- The kinds of a subject's jobs, in the tables where these statuses lie; without a subject, those of live jobs. It steps from
-- one to the next: a descent in one index for each table, and for each partition.
CREATE FUNCTION millrace.kinds_of(subject text, statuses text[]) RETURNS text[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET jit = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  live boolean := (statuses && '{pending,processing}') IS NOT FALSE;
  finished boolean := (statuses && '{completed,cancelled}') IS NOT FALSE;
  dead boolean := (statuses && '{dead}') IS NOT FALSE;
BEGIN
  IF kinds_of.subject IS NULL THEN
    RETURN ARRAY(
      WITH RECURSIVE kinds AS (
        SELECT '' AS kind
        UNION ALL
        SELECT (SELECT j.kind FROM millrace.live_jobs j WHERE j.kind > k.kind ORDER BY j.kind LIMIT 1)
        FROM kinds k
        WHERE k.kind IS NOT NULL
      )
      SELECT k.kind FROM kinds k WHERE k.kind <> ''
    );
  END IF;
  RETURN ARRAY(
    WITH RECURSIVE kinds AS (
      SELECT '' AS kind
      UNION ALL
      SELECT least(
        CASE WHEN live THEN (
          SELECT j.kind
          FROM millrace.live_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[kinds_of.subject]) AND j.kind > k.kind
          ORDER BY j.subject, j.kind
          LIMIT 1
        ) END,
        CASE WHEN finished THEN (
          SELECT j.kind
          FROM millrace.finished_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[kinds_of.subject]) AND j.kind > k.kind
          ORDER BY j.subject, j.kind
          LIMIT 1
        ) END,
        CASE WHEN dead THEN (
          SELECT j.kind
          FROM millrace.dead_jobs j
          WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[kinds_of.subject]) AND j.kind > k.kind
          ORDER BY j.subject, j.kind
          LIMIT 1
        ) END
      )
      FROM kinds k
      WHERE k.kind IS NOT NULL
    )
    SELECT k.kind FROM kinds k WHERE k.kind <> ''
  );
END
$$;

-- Ids among which are the newest `wanted` jobs from `first` down to `last`, both included: see functions/queue/list.ts. NULL
-- for `statuses`, `kind` or `subject`: any.
CREATE FUNCTION millrace.page(first uuid, last uuid, wanted int, statuses text[], kind text, subject text)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 100 SET plan_cache_mode = force_generic_plan SET jit = off SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  live text[] := ARRAY(SELECT s FROM unnest('{pending,processing}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  finished text[] := ARRAY(SELECT s FROM unnest('{completed,cancelled}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  dead text[] := ARRAY(SELECT s FROM unnest('{dead}'::text[]) s WHERE (s = ANY (statuses)) IS NOT FALSE);
  kinds text[] := CASE
    WHEN page.kind IS NOT NULL THEN ARRAY[page.kind]
    WHEN page.subject IS NOT NULL OR cardinality(live) = 1 THEN millrace.kinds_of(page.subject, statuses)
  END;
BEGIN
  IF live = '{}' THEN
    NULL;
  ELSIF page.subject IS NOT NULL THEN
    RETURN QUERY
      SELECT near.id
      FROM unnest(kinds) k(kind)
      CROSS JOIN unnest(live) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.live_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
          AND j.kind = k.kind AND j.status = s.status AND j.id BETWEEN page.last AND page.first
        ORDER BY j.subject DESC, j.id DESC
        LIMIT page.wanted
      ) near;
  ELSIF kinds IS NOT NULL THEN
    RETURN QUERY
      SELECT near.id
      FROM unnest(kinds) k(kind)
      CROSS JOIN unnest(live) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.live_jobs j
        WHERE j.kind = ANY (ARRAY[k.kind]) AND j.status = s.status AND j.id BETWEEN page.last AND page.first
        ORDER BY j.kind DESC, j.id DESC
        LIMIT page.wanted
      ) near;
  ELSE
    RETURN QUERY
      SELECT j.id
      FROM millrace.live_jobs j
      WHERE j.id BETWEEN page.last AND page.first
      ORDER BY j.id DESC
      LIMIT page.wanted;
  END IF;

  IF finished = '{}' THEN
    NULL;
  ELSIF page.subject IS NOT NULL THEN
    RETURN QUERY
      SELECT near.id
      FROM unnest(kinds) k(kind)
      CROSS JOIN unnest(finished) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.finished_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
          AND j.kind = k.kind AND j.status = s.status AND j.id BETWEEN page.last AND page.first
        ORDER BY j.subject DESC, j.id DESC
        LIMIT page.wanted
      ) near;
  ELSIF page.kind IS NOT NULL THEN
    RETURN QUERY
      SELECT near.id
      FROM unnest(finished) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.finished_jobs j
        WHERE j.kind = ANY (ARRAY[page.kind]) AND j.status = s.status AND j.id BETWEEN page.last AND page.first
        ORDER BY j.kind DESC, j.id DESC
        LIMIT page.wanted
      ) near;
  ELSIF cardinality(finished) = 1 THEN
    RETURN QUERY
      SELECT near.id
      FROM unnest(finished) s(status)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.finished_jobs j
        WHERE j.status = ANY (ARRAY[s.status]) AND j.id BETWEEN page.last AND page.first
        ORDER BY j.status DESC, j.id DESC
        LIMIT page.wanted
      ) near;
  ELSE
    RETURN QUERY
      SELECT j.id
      FROM millrace.finished_jobs j
      WHERE j.id BETWEEN page.last AND page.first
      ORDER BY j.id DESC
      LIMIT page.wanted;
  END IF;

  IF dead = '{}' THEN
    NULL;
  ELSIF page.subject IS NOT NULL THEN
    RETURN QUERY
      SELECT near.id
      FROM unnest(kinds) k(kind)
      CROSS JOIN LATERAL (
        SELECT j.id
        FROM millrace.dead_jobs j
        WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[page.subject])
          AND j.kind = k.kind AND j.id BETWEEN page.last AND page.first
        ORDER BY j.subject DESC, j.id DESC
        LIMIT page.wanted
      ) near;
  ELSIF page.kind IS NOT NULL THEN
    RETURN QUERY
      SELECT j.id
      FROM millrace.dead_jobs j
      WHERE j.kind = ANY (ARRAY[page.kind]) AND j.id BETWEEN page.last AND page.first
      ORDER BY j.kind DESC, j.id DESC
      LIMIT page.wanted;
  ELSE
    RETURN QUERY
      SELECT j.id
      FROM millrace.dead_jobs j
      WHERE j.id BETWEEN page.last AND page.first
      ORDER BY j.id DESC
      LIMIT page.wanted;
  END IF;
END
$$;

-- How many jobs there are from `first` down to `last`, by status, each counted up to `most` and no further: see
-- functions/queue/counts.ts.
CREATE FUNCTION millrace.counts(first uuid, last uuid, most int, statuses text[], kind text, subject text)
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
    WHEN counts.subject IS NOT NULL OR live <> '{}' THEN millrace.kinds_of(counts.subject, statuses)
  END;
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
    RETURN QUERY
      SELECT s.status, (
        SELECT count(*)::int
        FROM (
          SELECT
          FROM unnest(kinds) k(kind)
          CROSS JOIN LATERAL (
            SELECT
            FROM millrace.finished_jobs j
            WHERE j.subject IS NOT NULL AND j.subject = ANY (ARRAY[counts.subject])
              AND j.kind = k.kind AND j.status = s.status AND j.id BETWEEN counts.last AND counts.first
            ORDER BY j.subject, j.id
            LIMIT counts.most
          ) those
          LIMIT counts.most
        ) counted
      )
      FROM unnest(finished) s(status);
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

-- Jobs by their ids, in no order: what the view has of them, with a plan that is kept. A single job takes 0.9 ms in place of
-- 1.6, a page 1.5 in place of 3.5, over 17 partitions (measured). Sequential scans are off because the plan may be older than
-- the rows: made while a table was empty, it would go on reading it from end to end.
CREATE FUNCTION millrace.jobs_of(ids uuid[]) RETURNS SETOF millrace.jobs
LANGUAGE plpgsql STABLE ROWS 50 SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT j.*
    FROM unnest(jobs_of.ids) i(id)
    CROSS JOIN LATERAL (SELECT * FROM millrace.jobs v WHERE v.id = i.id LIMIT 1) j;
END
$$;
