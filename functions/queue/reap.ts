import { aroundBlocked, type Patience } from './around-blocked.ts';
import type { Contracts } from './contract.ts';
import type { Db } from './db.ts';
import type { JobId } from './job.ts';
import { DEATHS, type OnDead, onDeadColumns, onDeadJobs } from './on-dead.ts';
import { TWIN } from './twin.ts';

export interface Reaped {
  readonly id: JobId;
  readonly kind: string;
  /** The attempt whose lease ran out. */
  readonly attempt: number;
  /**
   * `cancelled`: somebody had asked for it, or a job of the same unique key is pending and runs in its place.
   * `returned`: it had been given back before and waited for its unique key (give-back.ts). It is pending, and no reap is counted.
   * `blocked`: somebody's open transaction holds its unique key. Nothing was changed; another call may find it free.
   */
  readonly status: 'pending' | 'dead' | 'cancelled' | 'returned' | 'blocked';
  /** Of the request that put the job in. */
  readonly requestId: string | null;
  readonly traceparent: string | null;
}

// The lock is let go at once: it only passes over rows that a settle holds at the moment. `bytes`: of what is copied for it.
const EXPIRED = `
SELECT l.id, l.kind, l.attempts AS attempt, l.request_id AS "requestId", l.traceparent,
       CASE WHEN l.attempts < l.max_attempts OR l.cancel_requested_at IS NOT NULL THEN 0 ELSE l.payload_bytes END AS bytes
FROM millrace.live_jobs l
WHERE l.status = 'processing' AND l.locked_until <= now() AND l.id <> ALL ($2::uuid[])
  AND ($3::boolean OR l.attempts < l.max_attempts OR l.cancel_requested_at IS NOT NULL)
ORDER BY l.locked_until
LIMIT $1
FOR UPDATE SKIP LOCKED`;

/*
 * The delay is uniform from 1 s to 10 s after a first reap, doubling to 60 s. A lease outlives its job's deadline, so the
 * job has waited already and is most likely innocent: its worker died. The spread keeps those that died together from
 * being claimed together again, and a job that ends its workers from doing so at full speed.
 * `judged`, `goes_on`: as in give-back.ts. locked_by is cleared and returned_by left alone: the late worker settled nothing, and
 * is told so; unless it had parked the job, which then goes back as it was.
 * `status` is not asked for: with it, the planner may take the index of leases and walk it for each of the ids. They come as
 * an array of a subselect, which is guessed as ten: from some hundred on, Postgres 15 would read the whole table.
 */
const REAP = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', $2, true)
),
expired AS MATERIALIZED (
  SELECT l.*
  FROM millrace.live_jobs l
  WHERE l.id = ANY (ARRAY(SELECT i.id FROM patience CROSS JOIN unnest($1::uuid[]) i(id)))
    AND l.locked_until <= now()
  FOR UPDATE SKIP LOCKED
),
looked AS MATERIALIZED (
  SELECT j.*,
         coalesce(j.returned_by = j.locked_by, false) AS parked,
         CASE WHEN j.cancel_requested_at IS NULL AND j.attempts < j.max_attempts THEN j.kind || ' ' || j.unique_key END AS rivals,
         CASE WHEN j.unique_key IS NOT NULL THEN ${TWIN} END AS twin
  FROM expired j
),
judged AS MATERIALIZED (
  SELECT l.*,
         CASE WHEN l.rivals IS NOT NULL THEN coalesce(l.twin, nullif(first_value(l.id) OVER newest, l.id)) END AS successor,
         CASE
           WHEN NOT l.parked THEN jsonb_build_object(
             'attempt', l.attempts,
             'started_at', to_char(l.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
             'failed_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
             'name', 'LeaseExpired',
             'message', 'the lease ran out and nobody had settled the attempt: its worker died, hung or lost the database')
         END AS error
  FROM looked l
  WINDOW newest AS (PARTITION BY l.rivals ORDER BY l.created_at DESC, l.id DESC)
),
decided AS MATERIALIZED (
  SELECT g.*,
         CASE
           WHEN g.cancel_requested_at IS NOT NULL THEN 'cancelled'
           WHEN g.attempts >= g.max_attempts THEN 'dead'
           WHEN g.successor IS NOT NULL THEN 'cancelled'
           ELSE 'pending'
         END AS outcome
  FROM judged g
),
goes_on AS MATERIALIZED (
  SELECT array_agg(g.id ORDER BY g.id) AS ids,
         array_agg(g.error ORDER BY g.id) AS errors
  FROM decided g
  WHERE g.outcome = 'pending'
),
returned AS (
  UPDATE millrace.live_jobs j
  SET status = 'pending',
      locked_by = NULL,
      locked_until = NULL,
      closed_at = NULL,
      reaps = j.reaps + CASE WHEN j.returned_by = j.locked_by THEN 0 ELSE 1 END,
      run_at = greatest(
        j.run_at,
        clock_timestamp() + make_interval(secs => CASE
          WHEN j.returned_by = j.locked_by THEN 0
          ELSE 1 + random() * (least(60, 10 * 2 ^ least(j.reaps, 3)) - 1)
        END)),
      errors = millrace.with_error(j.errors, g.errors[array_position(g.ids, j.id)])
  FROM goes_on g
  WHERE j.id = ANY (g.ids)
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(SELECT g.id FROM decided g WHERE g.outcome <> 'pending'))
),
cancelled AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
     request_id, traceparent)
  SELECT g.id, g.kind, g.queue, 'cancelled', g.priority, g.attempts, g.max_attempts,
         g.reaps + CASE WHEN g.parked THEN 0 ELSE 1 END, CASE WHEN g.parked THEN g.locked_by END, g.run_at, g.created_at,
         g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key, g.unique_key,
         g.concurrency_key, g.schedule_name,
         millrace.with_error(millrace.with_error(g.errors, g.error), millrace.superseded(g.attempts, g.successor)),
         g.request_id, g.traceparent
  FROM decided g
  WHERE g.outcome = 'cancelled'
),
buried AS (
  INSERT INTO millrace.dead_jobs
    (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, started_at, cancel_requested_at,
     payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors, payload, request_id,
     traceparent)
  SELECT g.id, g.kind, g.queue, g.priority, g.attempts, g.max_attempts, g.reaps + 1, g.run_at, g.created_at,
         g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key, g.unique_key,
         g.concurrency_key, g.schedule_name, millrace.with_error(g.errors, g.error), coalesce(p.payload, 'null'),
         g.request_id, g.traceparent
  FROM decided g
  LEFT JOIN millrace.payloads_of(ARRAY(SELECT g.id FROM decided g WHERE g.outcome = 'dead')) p ON p.id = g.id
  WHERE g.outcome = 'dead'
),
died AS MATERIALIZED (
  SELECT ${DEATHS} AS deaths
  FROM (
    SELECT g.id, g.kind, g.queue, g.subject, g.attempts, g.created_at, g.started_at, g.request_id, g.traceparent,
           coalesce(g.error, g.errors -> -1) AS error
    FROM decided g
    WHERE g.outcome = 'dead'
  ) d
  JOIN unnest($3::text[], $4::text[], $5::text[], $6::int[]) o(dead, kind, queue, max_attempts) ON o.dead = d.kind
),
refused AS MATERIALIZED (
  SELECT r.id, r.reason
  FROM died
  CROSS JOIN LATERAL millrace.put_on_dead(died.deaths) r
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT g.kind, v.event, count(*)
  FROM decided g
  CROSS JOIN LATERAL (
    VALUES ('reaped', NOT g.parked), ('cancelled', g.outcome = 'cancelled'), ('buried', g.outcome = 'dead')
  ) v(event, happened)
  WHERE v.happened
  GROUP BY g.kind, v.event
)
SELECT g.id, g.kind, g.attempts AS attempt,
       CASE WHEN g.parked AND g.outcome = 'pending' THEN 'returned' ELSE g.outcome END AS status,
       g.request_id AS "requestId", g.traceparent, r.reason AS refused
FROM decided g
LEFT JOIN refused r ON r.id = g.id
ORDER BY g.locked_until`;

export interface ReapOptions {
  /**
   * Rows of this call at most, fewer if their payloads weigh much; those that a settle holds at the moment are left to it. Call
   * it again until it answers none.
   */
  readonly limit: number;
  /** Ids to pass over, such as those that were `blocked` before. */
  readonly except?: readonly JobId[];
  /** For those that die: what `onDead` of their contracts names is put in by the same statement. Default: nothing is. */
  readonly contracts?: Contracts | undefined;
  /** Told of each dead job that has none, since the database would not take it, and why. */
  readonly onDeadRefused?: OnDead['refused'];
  /** Those that would die stay as they are, for a later call. Default false. */
  readonly spareDying?: boolean;
}

/**
 * Takes jobs back whose lease ran out by the database's clock, the longest ago first: pending again after a short random
 * delay, dead if that was the last attempt, cancelled if somebody asked for it or a job of the same unique key is pending.
 * @throws RangeError for contracts that do not fit together (kinds.ts)
 */
export async function reap(
  db: Db,
  { limit, except = [], contracts = {}, onDeadRefused = () => {}, spareDying = false }: ReapOptions,
): Promise<Reaped[]> {
  const onDead = { jobs: onDeadJobs(contracts), refused: onDeadRefused };
  const { rows: expired } = await db.query<Expired>(EXPIRED, [limit, except, !spareDying]);
  if (expired.length === 0) return [];
  return aroundBlocked<Omit<Reaped, 'status'>, Reaped>(
    light(expired),
    (some, patience) => write(db, some, patience, onDead),
    (job) => [{ ...job, status: 'blocked' }],
  );
}

type Expired = Omit<Reaped, 'status'> & { readonly bytes: number };

/**
 * Of the payloads of jobs that die, which are copied to dead_jobs and into what onDead puts in. 16 MiB in pieces of 256 KiB take
 * about a second with both, and a statement has 10 s; 20 pieces of 4 MiB would take longer than that (measured).
 */
const MOST_BYTES = 16 * 1024 * 1024;

/** As many of them as one statement can take, in their order; the first always. */
function light(expired: readonly Expired[]): Omit<Reaped, 'status'>[] {
  let sum = 0;
  const heavy = expired.findIndex(({ bytes }, at) => {
    sum += bytes;
    return at > 0 && sum > MOST_BYTES;
  });
  return expired.slice(0, heavy === -1 ? undefined : heavy).map(({ bytes: _, ...job }) => job);
}

async function write(
  db: Db,
  jobs: readonly { readonly id: JobId }[],
  patience: Patience,
  onDead: OnDead,
): Promise<Reaped[]> {
  const { rows } = await db.query<Reaped & { readonly refused: string | null }>(REAP, [
    jobs.map(({ id }) => id),
    patience,
    ...onDeadColumns(onDead.jobs),
  ]);
  return rows.map(({ refused, ...job }) => {
    if (refused !== null) onDead.refused(job, refused);
    return job;
  });
}
