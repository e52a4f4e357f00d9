import { aroundBlocked, isBlocked, type Patience } from './around-blocked.ts';
import type { Db } from './db.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import { missing, type Repeat, settledBefore } from './repeats.ts';
import { TWIN } from './twin.ts';

/** A job that was given back, and where it is now. */
export interface Returned {
  readonly id: JobId;
  /**
   * `cancelled`: somebody had asked for it, or a job of the same unique key is pending and runs in its place.
   * `blocked`: somebody's open transaction holds the row. Nothing was written; it can be tried again.
   */
  readonly status: 'pending' | 'cancelled' | 'blocked';
}

export type GivenBack = Claim & { readonly delaySeconds: number; readonly error?: AttemptError };

/*
 * `held` locks the latest version of each row, so that no cancel request falls between the decision and the move. A row that
 * this claim has parked is not given back a second time.
 * `judged`: of jobs of one key the newest goes back, whose payload is the newest; the others give way to it, and all of them
 * to a twin that is pending. A twin that is claimed while this runs begins after these attempts have ended: it stands for them.
 * A twin that nobody can see yet makes the unique index wait: see around-blocked.ts.
 * What the update needs comes in one row of arrays: a join with many rows of a guessed number may become quadratic.
 * $4 is NULL for a release, which gives the attempt back. $6 parks the row: see `park`.
 */
const GIVE_BACK = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', $5, true)
),
settled AS MATERIALIZED (
  SELECT DISTINCT ON (s.id, s.token) s.id, s.token, s.delay_seconds, s.error
  FROM patience
  CROSS JOIN unnest($1::uuid[], $2::uuid[], $3::float8[], $4::text[]::jsonb[]) s(id, token, delay_seconds, error)
  ORDER BY s.id, s.token
),
held AS MATERIALIZED (
  SELECT j.*, s.error, s.delay_seconds,
         CASE WHEN j.cancel_requested_at IS NULL THEN j.kind || ' ' || j.unique_key END AS rivals,
         CASE WHEN j.cancel_requested_at IS NULL AND j.unique_key IS NOT NULL THEN ${TWIN} END AS twin
  FROM settled s
  CROSS JOIN LATERAL (
    SELECT l.*
    FROM millrace.live_jobs l
    WHERE l.id = s.id AND l.locked_by = s.token AND l.returned_by IS DISTINCT FROM s.token
    FOR UPDATE
  ) j
),
judged AS MATERIALIZED (
  SELECT h.*,
         CASE WHEN h.rivals IS NOT NULL THEN coalesce(h.twin, nullif(first_value(h.id) OVER newest, h.id)) END AS successor
  FROM held h
  WINDOW newest AS (PARTITION BY h.rivals ORDER BY h.created_at DESC, h.id DESC)
),
goes_on AS MATERIALIZED (
  SELECT array_agg(h.id ORDER BY h.id) AS ids,
         array_agg(h.error ORDER BY h.id) AS errors,
         array_agg(h.delay_seconds ORDER BY h.id) AS delays
  FROM judged h
  WHERE h.cancel_requested_at IS NULL AND h.successor IS NULL
),
returned AS (
  UPDATE millrace.live_jobs j
  SET status = CASE WHEN $6 THEN j.status ELSE 'pending' END,
      attempts = CASE WHEN $4::text[]::jsonb[] IS NULL THEN greatest(j.attempts - 1, 0) ELSE j.attempts END,
      locked_by = CASE WHEN $6 THEN j.locked_by END,
      locked_until = CASE WHEN $6 THEN clock_timestamp() END,
      returned_by = j.locked_by,
      closed_at = NULL,
      run_at = greatest(
        j.run_at,
        clock_timestamp() + make_interval(secs => g.delays[array_position(g.ids, j.id)])),
      errors = millrace.with_error(j.errors, g.errors[array_position(g.ids, j.id)])
  FROM goes_on g
  WHERE j.id = ANY (g.ids)
  RETURNING j.id, j.kind
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(
    SELECT h.id
    FROM judged h
    WHERE h.cancel_requested_at IS NOT NULL OR h.successor IS NOT NULL))
),
cancelled AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
     request_id, traceparent)
  SELECT h.id, h.kind, h.queue, 'cancelled', h.priority, h.attempts, h.max_attempts, h.reaps, h.locked_by, h.run_at,
         h.created_at, h.started_at, h.cancel_requested_at, h.payload_bytes, h.subject, h.idempotency_key,
         h.unique_key, h.concurrency_key, h.schedule_name,
         millrace.with_error(millrace.with_error(h.errors, h.error), millrace.superseded(h.attempts, h.successor)),
         h.request_id, h.traceparent
  FROM judged h
  WHERE h.cancel_requested_at IS NOT NULL OR h.successor IS NOT NULL
  RETURNING id, kind
),
moved AS (
  SELECT r.id, r.kind, 'pending' AS status, CASE WHEN $4::text[]::jsonb[] IS NULL THEN 'released' ELSE 'retried' END AS event
  FROM returned r
  UNION ALL
  SELECT c.id, c.kind, 'cancelled', 'cancelled' FROM cancelled c
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT m.kind, m.event, count(*)
  FROM moved m
  GROUP BY m.kind, m.event
)
SELECT m.id, m.status FROM moved m`;

/**
 * What retry and release have in common: the jobs are pending again, or ended if that is what should become of them. All
 * claims have an error (the attempt is spent) or none has (it is given back). A missing id was overtaken.
 */
export async function giveBack(db: Db, claims: readonly GivenBack[]): Promise<Returned[]> {
  if (claims.length === 0) return [];
  const returned = await aroundBlocked<GivenBack, Returned>(
    // The newest first, as `judged` has it, should they have to go one by one.
    claims.toSorted((one, other) => (one.id < other.id ? 1 : -1)),
    (some, patience) => write(db, some, patience, false),
    (claim) => park(db, claim),
  );
  const repeats = await settledBefore(db, missing(claims, returned));
  return [...returned, ...repeats.filter(wasReturned)];
}

/**
 * For a job whose unique key is held by somebody's open transaction: all is written as if it were pending, but for its status.
 * It stays under its claim, with the lease ended and `returned_by` = `locked_by`, which tells the reaper to put it back (or to
 * let it give way to the twin) without a reap. So nobody waits for that transaction, a drain least of all, and no attempt is
 * lost by it; the job is late by at most the reaper's minute.
 */
async function park(db: Db, claim: GivenBack): Promise<Returned[]> {
  return write(db, [claim], '50ms', true).catch((error: unknown) => {
    if (!isBlocked(error)) throw error;
    return [{ id: claim.id, status: 'blocked' }];
  });
}

async function write(db: Db, claims: readonly GivenBack[], patience: Patience, parks: boolean): Promise<Returned[]> {
  const errors = claims.map(({ error }) => error);
  const { rows } = await db.query<Returned>(GIVE_BACK, [
    claims.map((claim) => claim.id),
    claims.map((claim) => claim.token),
    claims.map((claim) => claim.delaySeconds),
    errors.includes(undefined) ? null : errors.map((error) => JSON.stringify(error)),
    patience,
    parks,
  ]);
  return rows;
}

/** A settle that gave the job back: retry, release, or either of them on a job that was to end. */
function wasReturned(repeat: Repeat): repeat is Repeat & Returned {
  return repeat.status === 'pending' || repeat.status === 'cancelled';
}
