import { isBlocked, metTwin, oneByOne, type Patience } from './around-blocked.ts';
import type { Contracts } from './contract.ts';
import type { Db } from './db.ts';
import { ISO } from './iso.ts';
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
  /** When its lease ran out; ISO 8601 in UTC with microseconds. */
  readonly leaseUntil: string;
  /** Of the request that put the job in. */
  readonly requestId: string | null;
  readonly traceparent: string | null;
}

/** Fixed text: of the row `l`. */
const LEASE_UNTIL = `to_char(l.locked_until AT TIME ZONE 'UTC', ${ISO}) AS "leaseUntil"`;

// As PICK_EXPIRED, in an order of its own. The locks are let go at once.
const NAMES = `
SELECT l.id, l.kind, l.attempts AS attempt, ${LEASE_UNTIL}, l.request_id AS "requestId", l.traceparent
FROM millrace.live_jobs l
WHERE l.status = 'processing' AND l.locked_until <= now()
  AND l.locked_until >= CASE WHEN $2::timestamptz <= now() THEN $2::timestamptz ELSE '-infinity' END
  AND l.locked_until < $3::timestamptz
  AND l.id <> ALL ($4::uuid[])
  AND ($5::boolean OR l.attempts < l.max_attempts OR l.cancel_requested_at IS NOT NULL)
ORDER BY l.locked_until
LIMIT $1
FOR UPDATE SKIP LOCKED`;

/** Fixed text: what is decided by, of the row `l`. Whole rows would be carried from step to step, a tenth of the time (measured). */
const NARROW = `
  l.id, l.kind, l.attempts, l.locked_until, l.created_at, l.unique_key, l.payload_bytes, l.request_id, l.traceparent,
  l.cancel_requested_at IS NOT NULL AS cancelling, l.attempts >= l.max_attempts AS spent,
  coalesce(l.returned_by = l.locked_by, false) AS parked`;

/** Fixed text: what is written down of an attempt of the row `j`. */
const LEASE_EXPIRED = `jsonb_build_object(
  'attempt', j.attempts,
  'started_at', to_char(j.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'failed_at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  'name', 'LeaseExpired',
  'message', 'the lease ran out and nobody had settled the attempt: its worker died, hung or lost the database')`;

/*
 * The delay is uniform from 1 s to 10 s after a first reap, doubling to 60 s. A lease outlives its job's deadline, so the
 * job has waited already and is most likely innocent: its worker died. The spread keeps those that died together from
 * being claimed together again, and a job that ends its workers from doing so at full speed.
 * `looked`: `place` and `weight` bound what one statement copies. `judged`: as in millrace.give_back. locked_by is cleared
 * and returned_by left alone: the late worker settled nothing, and is told so; unless it had parked the job, which then goes
 * back as it was.
 * The update names its rows by an array and reads all else from themselves. A join with so many rows of a guessed number may
 * become quadratic, and so do places in arrays: they took a third of the time of 500 rows (measured).
 */
const REAPED = `
looked AS MATERIALIZED (
  SELECT j.*,
         CASE WHEN NOT (j.cancelling OR j.spent) THEN j.kind || ' ' || j.unique_key END AS rivals,
         CASE WHEN j.unique_key IS NOT NULL THEN ${TWIN} END AS twin,
         row_number() OVER longest_ago AS place,
         sum(CASE WHEN j.spent AND NOT j.cancelling THEN j.payload_bytes END) OVER longest_ago AS weight
  FROM picked j
  WINDOW longest_ago AS (ORDER BY j.locked_until, j.id ROWS UNBOUNDED PRECEDING)
),
judged AS MATERIALIZED (
  SELECT l.*,
         CASE WHEN l.rivals IS NOT NULL THEN coalesce(l.twin, nullif(first_value(l.id) OVER newest, l.id)) END AS successor
  FROM looked l
  WHERE l.place = 1 OR coalesce(l.weight, 0) <= $2
  WINDOW newest AS (PARTITION BY l.rivals ORDER BY l.created_at DESC, l.id DESC)
),
decided AS MATERIALIZED (
  SELECT g.*,
         CASE
           WHEN g.cancelling THEN 'cancelled'
           WHEN g.spent THEN 'dead'
           WHEN g.successor IS NOT NULL THEN 'cancelled'
           ELSE 'pending'
         END AS outcome
  FROM judged g
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
      errors = CASE
        WHEN j.returned_by = j.locked_by THEN j.errors
        WHEN j.errors IS NULL THEN jsonb_build_array(${LEASE_EXPIRED})
        ELSE millrace.with_error(j.errors, ${LEASE_EXPIRED})
      END
  WHERE j.id = ANY (ARRAY(SELECT g.id FROM decided g WHERE g.outcome = 'pending'))
),
gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY (ARRAY(SELECT g.id FROM decided g WHERE g.outcome <> 'pending'))
  RETURNING j.*
),
ended AS MATERIALIZED (
  SELECT j.*, g.outcome, g.parked, g.successor, CASE WHEN NOT g.parked THEN ${LEASE_EXPIRED} END AS error
  FROM gone j
  JOIN decided g ON g.id = j.id
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
  FROM ended g
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
  FROM ended g
  LEFT JOIN millrace.payloads_of(ARRAY(SELECT g.id FROM ended g WHERE g.outcome = 'dead')) p ON p.id = g.id
  WHERE g.outcome = 'dead'
),
died AS MATERIALIZED (
  SELECT ${DEATHS} AS deaths
  FROM (
    SELECT g.id, g.kind, g.queue, g.subject, g.attempts, g.created_at, g.started_at, g.request_id, g.traceparent,
           coalesce(g.error, g.errors -> -1) AS error
    FROM ended g
    WHERE g.outcome = 'dead'
  ) d
  JOIN unnest($3::text[], $4::text[], $5::text[], $6::int[]) o(dead, kind, queue, max_attempts) ON o.dead = d.kind
),
refused AS MATERIALIZED (
  SELECT r.id, r.reason
  FROM died
  CROSS JOIN LATERAL millrace.put_on_dead(died.deaths) r
),
counts AS MATERIALIZED (
  SELECT g.kind,
         count(*) FILTER (WHERE NOT g.parked) AS reaped,
         count(*) FILTER (WHERE g.outcome = 'cancelled') AS cancelled,
         count(*) FILTER (WHERE g.outcome = 'dead') AS buried
  FROM decided g
  GROUP BY g.kind
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT c.kind, v.event, v.n
  FROM counts c
  CROSS JOIN LATERAL (VALUES ('reaped', c.reaped), ('cancelled', c.cancelled), ('buried', c.buried)) v(event, n)
  WHERE v.n > 0
)
SELECT l.id, l.kind, l.attempts AS attempt,
       CASE WHEN l.parked AND l.outcome = 'pending' THEN 'returned' ELSE l.outcome END AS status,
       ${LEASE_UNTIL}, l.request_id AS "requestId", l.traceparent, r.reason AS refused
FROM decided l
LEFT JOIN refused r ON r.id = l.id
ORDER BY l.locked_until`;

/** Fixed text: said before anything is waited for. */
const PATIENCE = `
patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', $1, true)
)`;

/** Fixed text: where a lease ran out, the longest ago first; what a settle holds at the moment is left to it. */
const PICK_EXPIRED = `
SELECT l.*
FROM patience
CROSS JOIN LATERAL (
  SELECT ${NARROW}
  FROM millrace.live_jobs l
  WHERE l.status = 'processing' AND l.locked_until <= now()
    AND l.locked_until >= CASE WHEN $8::timestamptz <= now() THEN $8::timestamptz ELSE '-infinity' END
    AND l.locked_until < $9::timestamptz
    AND l.id <> ALL ($10::uuid[])
    AND ($11::boolean OR l.attempts < l.max_attempts OR l.cancel_requested_at IS NOT NULL)
  ORDER BY l.locked_until
  LIMIT $7
  FOR UPDATE SKIP LOCKED
) l`;

/*
 * Fixed text. `status` is not asked for: with it, the planner may take the index of leases and walk it for each of the ids. They
 * come as an array of a subselect, which is guessed as ten: from some hundred on, Postgres 15 would read the whole table.
 */
const PICK_THESE = `
SELECT ${NARROW}
FROM millrace.live_jobs l
WHERE l.id = ANY (ARRAY(SELECT i.id FROM patience CROSS JOIN unnest($7::uuid[]) i(id)))
  AND l.locked_until <= now()
FOR UPDATE SKIP LOCKED`;

const REAP = `WITH ${PATIENCE}, picked AS MATERIALIZED (${PICK_EXPIRED}), ${REAPED}`;
const REAP_THESE = `WITH ${PATIENCE}, picked AS MATERIALIZED (${PICK_THESE}), ${REAPED}`;

export interface ReapOptions {
  /**
   * Rows of this call at most, fewer if their payloads weigh much; those that a settle holds at the moment are left to it. Call
   * it again until it answers none.
   */
  readonly limit: number;
  /** Ids to pass over, such as those that were `blocked` before. */
  readonly except?: readonly JobId[];
  /**
   * Leases that ran out before are left alone; not so if it lies ahead, since the database's clock was set back then. With the last
   * `leaseUntil` that a call has answered, the next one need not pass what vacuum has not cleared away. Default: all.
   */
  readonly after?: string | undefined;
  /** Leases that ran out then or later are left alone. ISO 8601. Default: none are. */
  readonly until?: string | undefined;
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
export async function reap(db: Db, options: ReapOptions): Promise<Reaped[]> {
  const {
    limit,
    after,
    until = 'infinity',
    except = [],
    spareDying = false,
    contracts = {},
    onDeadRefused = () => {},
  } = options;
  const onDead = { jobs: onDeadJobs(contracts), refused: onDeadRefused };
  const which = [limit, after ?? null, until, except, !spareDying];
  try {
    return await write(db, REAP, which, '100ms', onDead);
  } catch (error) {
    if (!isBlocked(error) && !metTwin(error)) throw error;
  }
  const { rows } = await db.query<Omit<Reaped, 'status'>>(NAMES, which);
  return oneByOne<Omit<Reaped, 'status'>, Reaped>(
    rows,
    ({ id }, patience) => write(db, REAP_THESE, [[id]], patience, onDead),
    (job) => [{ ...job, status: 'blocked' }],
  );
}

/**
 * Of the payloads of jobs that die, which are copied to dead_jobs and into what onDead puts in. 16 MiB in pieces of 256 KiB take
 * about a second with both, and a statement has 10 s; 20 pieces of 4 MiB would take longer than that (measured).
 */
const MOST_BYTES = 16 * 1024 * 1024;

async function write(
  db: Db,
  statement: string,
  which: readonly unknown[],
  patience: Patience,
  onDead: OnDead,
): Promise<Reaped[]> {
  const { rows } = await db.query<Reaped & { readonly refused: string | null }>(statement, [
    patience,
    MOST_BYTES,
    ...onDeadColumns(onDead.jobs),
    ...which,
  ]);
  return rows.map(({ refused, ...job }) => {
    if (refused !== null) onDead.refused(job, refused);
    return job;
  });
}
