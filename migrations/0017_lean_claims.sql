-- Why: a claim costs the server less for each job, walks what lies before its first job once instead of twice, and looks for
-- suspects from where it has seen that there are none.
-- Locks: replaces three functions; nothing waits for it. Workers of the release before call them with the same arguments and read
-- the same columns.

/*
 * One row for each id; payload is NULL if there is none. VOLATILE, and no table is read whole: see 0004.
 * Ids of the same 4.7 hours, which have the first 24 of their 48 bits of time in common, lie in two partitions at most, and are
 * looked up there all at once: 0.5 µs each, sorting included, in place of 1.8 for finding its partition and then itself. Over a
 * longer time each would be looked for in each partition.
 */
CREATE OR REPLACE FUNCTION millrace.payloads_of(ids uuid[]) RETURNS TABLE (id uuid, payload jsonb)
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
  sorted uuid[] := ARRAY(SELECT i.id FROM unnest(ids) i(id) ORDER BY i.id);
  eldest uuid := sorted[1];
  youngest uuid := sorted[cardinality(sorted)];
  found_some bigint;
BEGIN
  IF left(eldest::text, 6) = left(youngest::text, 6) THEN
    RETURN QUERY
      SELECT p.id, p.payload
      FROM millrace.payloads p
      WHERE p.id = ANY (sorted) AND p.id >= eldest AND p.id <= youngest;
    GET DIAGNOSTICS found_some = ROW_COUNT;
    IF found_some < cardinality(sorted) THEN
      RETURN QUERY
        SELECT i.id, NULL::jsonb
        FROM unnest(sorted) i(id)
        WHERE (SELECT p.id FROM millrace.payloads p WHERE p.id = i.id) IS NULL;
    END IF;
  ELSIF cardinality(sorted) > 0 THEN
    RETURN QUERY
      SELECT i.id, (SELECT p.payload FROM millrace.payloads p WHERE p.id = i.id)
      FROM unnest(sorted) i(id);
  END IF;
END
$$;

/*
 * Takes due jobs of these kinds: see functions/queue/claim.ts. The first row says what the claim saw, and its `id` is NULL; the
 * others are jobs, and say only what each job is. What keeps it O(batch) with any statistics, one probe of the claim index for
 * each priority from its mark on:
 * - ORDER BY and LIMIT inside each probe: a plan that has to sort never looks cheaper than the index
 * - kinds by array_position, which no index answers: `= ANY` would offer the planner an index on kind
 * - rows are found again by `id = ANY (…)`, which is guessed as ten rows: a join becomes a hash of whole tables
 * - `locked_by IS NULL` where `status = 'pending'` would offer a partial index
 * - payloads by a function: see docs/decisions/0004, which is about more than speed
 * - no table is read whole, were it to look empty when the plan is made: the plan is kept for as long as the session lasts
 * The first of its statements chooses and locks; the second takes what is locked, which nobody else can have changed meanwhile. A
 * claim that finds nothing ends between them.
 * The oldest come first: heads of all priorities are read without a lock, and only those chosen are locked. `urgent` begins at the
 * last head of its priority that was chosen, or else at the first head: both see the same snapshot, so nothing but those chosen
 * lies before. Only the chosen ones that are due at that very moment are told apart by their ids. What is dead there, or of other
 * kinds, is walked once.
 * The window over all rows is computed only if they weigh too much together.
 * The twelfth of `marks`, if given, is the one of suspects. A suspect that somebody holds is not due: whoever hears of one lets all
 * else come to an end first, and would not get it.
 * One plan for all values, since the shape is pinned; no JIT, which would compile it anew at each call.
 * Changed by more columns at the end, else only by a new function of another name: workers of the release before call this
 * one with the same arguments, and read its columns by name.
 */
CREATE OR REPLACE FUNCTION millrace.claim(
  token uuid,
  queue text,
  kinds text[],
  lease_seconds float8[],
  wanted int,
  aged int,
  max_bytes bigint,
  marks timestamptz[],
  rescanned_at timestamptz,
  resumed_at timestamptz,
  grace_seconds float8,
  rescan_seconds float8
) RETURNS TABLE (
  seen_until text,
  rescan_due boolean,
  looked_back boolean,
  resumed_until text,
  exhausted boolean,
  suspect_due boolean,
  next_heads jsonb,
  left_out jsonb,
  id uuid,
  kind text,
  priority smallint,
  subject text,
  attempts int,
  max_attempts int,
  reaps int,
  run_at text,
  created_at text,
  waited_ms float8,
  is_aged boolean,
  payload jsonb,
  request_id text,
  traceparent text
)
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_generic_plan
SET jit = off
SET enable_seqscan = off
SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  taken_ids uuid[];
  oldest_ids uuid[];
  oldest_until timestamptz;
BEGIN
  WITH lane AS MATERIALIZED (
    SELECT ARRAY(
             SELECT k.kind
             FROM unnest(claim.kinds) k(kind)
             WHERE NOT EXISTS (
               SELECT
               FROM millrace.pauses p
               WHERE p.resumed_at IS NULL AND (p.scope, p.name) IN (('kind', k.kind), ('queue', claim.queue)))
           ) AS kinds,
           (
             SELECT max(p.resumed_at)
             FROM millrace.pauses p
             WHERE (p.scope = 'queue' AND p.name = claim.queue) OR (p.scope = 'kind' AND p.name = ANY (claim.kinds))
           ) AS resumed_at
  ),
  sight AS MATERIALIZED (
    SELECT l.kinds,
           CASE WHEN l.kinds = '{}' THEN 0 ELSE claim.wanted END AS wanted,
           coalesce(
             -- Whatever the grace of this claim is: a resume is looked back for once, and its commit may be late.
             l.resumed_at > coalesce(claim.resumed_at, claim.rescanned_at - make_interval(secs => greatest(claim.grace_seconds, 2))),
             false
           ) AS looked_back,
           greatest(l.resumed_at, claim.resumed_at) AS resumed_at
    FROM lane l
  ),
  probes AS MATERIALIZED (
    SELECT p.priority, s.kinds, s.wanted,
           -- least: should the clock have been set back, what comes in from now on is found all the same.
           CASE
             WHEN s.looked_back OR p.mark IS NULL THEN '-infinity'
             ELSE least(p.mark, now() - make_interval(secs => claim.grace_seconds))
           END AS mark
    FROM sight s
    CROSS JOIN unnest('{5,4,3,2,1,0,-1,-2,-3,-4,-5}'::smallint[], claim.marks[1:11]) p(priority, mark)
  ),
  suspect AS MATERIALIZED (
    SELECT i.id
    FROM millrace.live_jobs i
    WHERE i.status = 'pending' AND i.reaps >= 2
      AND i.queue = claim.queue AND i.run_at <= now()
      AND i.run_at >= (
        SELECT CASE
                 WHEN s.looked_back THEN '-infinity'
                 ELSE least(coalesce(claim.marks[12], '-infinity'), now() - make_interval(secs => claim.grace_seconds))
               END
        FROM sight s)
      AND array_position((SELECT s.kinds FROM sight s), i.kind) IS NOT NULL
    ORDER BY i.run_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  ),
  heads AS MATERIALIZED (
    SELECT p.priority, h.id, h.run_at, row_number() OVER (ORDER BY h.run_at) <= claim.aged AS chosen
    FROM probes p
    CROSS JOIN LATERAL (
      SELECT i.id, i.run_at
      FROM millrace.live_jobs i
      WHERE i.status = 'pending' AND i.reaps < 2
        AND i.queue = claim.queue AND i.priority = p.priority AND i.run_at <= now() AND i.run_at >= p.mark
        AND array_position(p.kinds, i.kind) IS NOT NULL
      ORDER BY i.run_at
      LIMIT least(p.wanted, claim.aged)
    ) h
  ),
  starts AS MATERIALIZED (
    SELECT p.priority, p.kinds, p.wanted,
           CASE WHEN claim.aged > 0 THEN f.first ELSE p.mark END AS first,
           ARRAY(SELECT h.id FROM heads h WHERE h.chosen AND h.priority = p.priority AND h.run_at = f.first) AS passed
    FROM probes p
    CROSS JOIN LATERAL (
      SELECT coalesce(max(h.run_at) FILTER (WHERE h.chosen), min(h.run_at)) AS first
      FROM heads h
      WHERE h.priority = p.priority
    ) f
  ),
  oldest AS MATERIALIZED (
    SELECT j.id, j.priority, j.run_at, j.payload_bytes
    FROM millrace.live_jobs j
    WHERE j.id = ANY (ARRAY(SELECT h.id FROM heads h WHERE h.chosen))
      AND j.locked_by IS NULL AND j.run_at <= now()
    FOR UPDATE SKIP LOCKED
  ),
  urgent AS MATERIALIZED (
    SELECT due.id, due.priority, due.run_at, due.payload_bytes
    FROM starts p
    CROSS JOIN LATERAL (
      SELECT i.id, i.priority, i.run_at, i.payload_bytes
      FROM millrace.live_jobs i
      WHERE i.status = 'pending' AND i.reaps < 2
        AND i.queue = claim.queue AND i.priority = p.priority AND i.run_at <= now() AND i.run_at >= p.first
        AND array_position(p.kinds, i.kind) IS NOT NULL
        AND i.id <> ALL (p.passed)
      ORDER BY i.run_at
      LIMIT p.wanted
      FOR UPDATE SKIP LOCKED
    ) due
    WHERE p.first IS NOT NULL
    LIMIT claim.wanted - (SELECT count(*) FROM oldest)
  ),
  picked AS MATERIALIZED (
    SELECT o.id, 0 AS part, o.priority, o.run_at, o.payload_bytes FROM oldest o
    UNION ALL
    SELECT u.id, 1, u.priority, u.run_at, u.payload_bytes FROM urgent u
  ),
  too_heavy AS MATERIALIZED (
    SELECT w.id, w.part, w.priority, w.run_at
    FROM (
      SELECT p.id, p.part, p.priority, p.run_at,
             row_number() OVER taken > 1 AND sum(p.payload_bytes) OVER taken > claim.max_bytes AS heavy
      FROM picked p
      WHERE (SELECT sum(p.payload_bytes) FROM picked p) > claim.max_bytes
      WINDOW taken AS (ORDER BY p.part, p.part * p.priority DESC, p.run_at, p.id ROWS UNBOUNDED PRECEDING)
    ) w
    WHERE w.heavy
  )
  SELECT to_char((now() - make_interval(secs => claim.grace_seconds)) AT TIME ZONE 'UTC',
                 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS seen_until,
         now() >= claim.rescanned_at + make_interval(secs => claim.rescan_seconds)
           OR now() < claim.rescanned_at - make_interval(secs => claim.rescan_seconds) AS rescan_due,
         s.looked_back,
         to_char(s.resumed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS resumed_at,
         (SELECT count(*) FROM picked) < s.wanted AS exhausted,
         EXISTS (SELECT FROM suspect) AS suspect_due,
         (
           SELECT jsonb_agg(jsonb_build_object(
             'priority', n.priority,
             'runAt', to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
           FROM (
             SELECT p.priority,
                    coalesce(
                      min(h.run_at) FILTER (WHERE NOT h.chosen),
                      CASE WHEN count(h.id) < claim.aged THEN now() ELSE max(h.run_at) END
                    ) AS run_at
             FROM probes p
             LEFT JOIN heads h ON h.priority = p.priority
             WHERE p.wanted > 0 AND claim.aged > 0
             GROUP BY p.priority
           ) n
         ) AS next_heads,
         (
           SELECT jsonb_agg(jsonb_build_object(
             'priority', n.priority,
             'aged', n.part = 0,
             'runAt', to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')))
           FROM (
             SELECT w.priority, w.part, min(w.run_at) AS run_at
             FROM too_heavy w
             GROUP BY w.priority, w.part
           ) n
         ) AS left_out,
         ARRAY(SELECT p.id FROM picked p WHERE p.id NOT IN (SELECT h.id FROM too_heavy h)),
         ARRAY(SELECT o.id FROM oldest o),
         (SELECT max(o.run_at) FROM oldest o)
  INTO seen_until, rescan_due, looked_back, resumed_until, exhausted, suspect_due, next_heads, left_out,
       taken_ids, oldest_ids, oldest_until
  FROM sight s;
  RETURN NEXT;
  IF taken_ids <> '{}' THEN
    RETURN QUERY
      WITH claimed AS (
        UPDATE millrace.live_jobs j
        SET status = 'processing',
            attempts = j.attempts + 1,
            locked_by = claim.token,
            locked_until = clock_timestamp()
              + make_interval(secs => (claim.lease_seconds)[array_position(claim.kinds, j.kind)]),
            started_at = clock_timestamp()
        WHERE j.id = ANY (taken_ids)
        RETURNING j.id, j.kind, j.priority, j.subject, j.attempts, j.max_attempts, j.reaps, j.run_at, j.created_at,
                  j.started_at, j.request_id, j.traceparent
      )
      SELECT NULL::text, NULL::boolean, NULL::boolean, NULL::text, NULL::boolean, NULL::boolean, NULL::jsonb, NULL::jsonb,
             c.id, c.kind, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps,
             to_char(c.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
             to_char(c.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
             date_part('epoch', c.started_at - c.run_at) * 1000,
             coalesce(c.run_at <= oldest_until, false) AND c.id = ANY (oldest_ids),
             p.payload,
             c.request_id,
             c.traceparent
      FROM claimed c
      LEFT JOIN millrace.payloads_of(taken_ids) p ON p.id = c.id;
  END IF;
END
$$;

/*
 * Claims from the first of these queues that has something due, in their order: a worker of many queues that finds nothing sends one
 * statement for all of them. Answers what millrace.claim does for each queue that was asked, with its place in the list.
 * `aged`, `rescanned_at`, `resumed_at`: one for each queue; `marks`: eleven for each, or twelve, one after the other.
 */
CREATE OR REPLACE FUNCTION millrace.claim_first(
  token uuid,
  queues text[],
  kinds text[],
  lease_seconds float8[],
  wanted int,
  aged int[],
  max_bytes bigint,
  marks timestamptz[],
  rescanned_at timestamptz[],
  resumed_at timestamptz[],
  grace_seconds float8,
  rescan_seconds float8
) RETURNS TABLE (
  place int,
  seen_until text,
  rescan_due boolean,
  looked_back boolean,
  resumed_until text,
  exhausted boolean,
  suspect_due boolean,
  next_heads jsonb,
  left_out jsonb,
  id uuid,
  kind text,
  priority smallint,
  subject text,
  attempts int,
  max_attempts int,
  reaps int,
  run_at text,
  created_at text,
  waited_ms float8,
  is_aged boolean,
  payload jsonb,
  request_id text,
  traceparent text
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
  found_some boolean := false;
  -- 11, or 12 with the one of suspects.
  each int := cardinality(marks) / cardinality(queues);
BEGIN
  FOR i IN 1 .. cardinality(queues) LOOP
    place := i;
    FOR seen_until, rescan_due, looked_back, resumed_until, exhausted, suspect_due, next_heads, left_out, id, kind, priority, subject,
        attempts, max_attempts, reaps, run_at, created_at, waited_ms, is_aged, payload, request_id, traceparent IN
      SELECT c.seen_until, c.rescan_due, c.looked_back, c.resumed_until, c.exhausted, c.suspect_due, c.next_heads, c.left_out, c.id,
             c.kind, c.priority, c.subject, c.attempts, c.max_attempts, c.reaps, c.run_at, c.created_at, c.waited_ms, c.is_aged,
             c.payload, c.request_id, c.traceparent
      FROM millrace.claim(
        token, queues[i], kinds, lease_seconds, wanted, aged[i], max_bytes, marks[each * (i - 1) + 1 : each * i], rescanned_at[i],
        resumed_at[i], grace_seconds, rescan_seconds) c
    LOOP
      found_some := found_some OR id IS NOT NULL;
      RETURN NEXT;
    END LOOP;
    EXIT WHEN found_some;
  END LOOP;
END
$$;
