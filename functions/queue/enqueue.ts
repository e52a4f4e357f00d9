import { DEFAULTS } from './contract.ts';
import type { Db } from './db.ts';
import { IdempotencyKeyReusedError } from './errors.ts';
import type { JobId } from './job.ts';
import { sqlState } from './postgres-error.ts';

export interface NewJob {
  /** Given: an enqueue that is sent again with it changes nothing and answers the same. Default: a new UUIDv7. */
  readonly id?: JobId | undefined;
  readonly kind: string;
  readonly payload: unknown;
  /** ISO 8601 with a zone. A past one counts as now. Default now. */
  readonly runAt?: string | undefined;
  /** Seconds from the database's now, in place of `runAt`. */
  readonly delaySeconds?: number | undefined;
  /** −5 to 5, default 0. */
  readonly priority?: number | undefined;
  /** Default `default`. */
  readonly queue?: string | undefined;
  /** The caller's own id for what the job is about, 1 to 255 characters; need not be unique. */
  readonly subject?: string | undefined;
  /** 1 to 1,000, default 5. */
  readonly maxAttempts?: number | undefined;
  /**
   * 1 to 255 characters. The same kind, key and payload again answer the first job (`replayed`), for at least 24 h and as
   * long as the job is kept; another payload is an IdempotencyKeyReusedError.
   */
  readonly idempotencyKey?: string | undefined;
  /** 1 to 255 characters. At most one pending job of a kind has it: one that is there answers for this one (`kept`). */
  readonly uniqueKey?: string | undefined;
  /** `live`: a running job of that kind and `uniqueKey` answers for it, too. Default `pending`. */
  readonly uniqueWhile?: 'pending' | 'live' | undefined;
  /** What the pending job of the same `uniqueKey` takes over from this one (`replaced`). Default nothing. */
  readonly replace?: readonly ('payload' | 'run_at')[] | undefined;
  /** Id of the request that the job comes from, 1 to 255 characters. */
  readonly requestId?: string | undefined;
  /** W3C trace context, 1 to 255 characters. */
  readonly traceparent?: string | undefined;
}

/** The job that stands for an enqueued one. */
export interface Enqueued {
  readonly id: JobId;
  /**
   * - `created`: by this call, or by an earlier one that gave the same id
   * - `replayed`: the idempotency key is known
   * - `kept`: a job with the same unique key is there
   * - `replaced`: likewise, and it took over what `replace` names
   */
  readonly outcome: 'created' | 'replayed' | 'kept' | 'replaced';
  /** The idempotency key outlived its job: `id` leads to nothing any more. */
  readonly pruned: boolean;
}

export interface Patience {
  /** Milliseconds for which each lock is waited for; then SQLSTATE 55P03. Default: the connection's lock_timeout. */
  readonly lockTimeoutMs?: number | undefined;
}

/** Jobs that one call takes. */
export const MAX_JOBS = 1000;

const ENQUEUE_MANY = `
SELECT e.id, e.outcome, e.pruned
FROM millrace.enqueue_many($1::text::jsonb) e
ORDER BY e.index`;

// The CASE makes the call wait for the setting, which ends with the transaction.
const ENQUEUE_MANY_IN_TIME = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', $2::text, true) AS lock_timeout
)
SELECT e.id, e.outcome, e.pruned
FROM patience p
CROSS JOIN LATERAL millrace.enqueue_many(CASE WHEN p.lock_timeout IS NOT NULL THEN $1::text::jsonb END) e
ORDER BY e.index`;

/**
 * Puts up to 1,000 jobs in as they are, all or none, and answers in their order. The database refuses what is out of
 * bounds, naming it (SQLSTATE 22023: `jobs[3].priority …`).
 * @throws IdempotencyKeyReusedError
 */
export async function insertJobs(db: Db, jobs: readonly NewJob[], patience?: Patience): Promise<Enqueued[]> {
  return insertItems(
    db,
    jobs.map((job) => itemOf(job, jsonOf(job.payload))),
    patience,
  );
}

/** Puts in, like insertJobs, the items that `itemOf` has made. */
export async function insertItems(
  db: Db,
  items: readonly string[],
  { lockTimeoutMs }: Patience = {},
): Promise<Enqueued[]> {
  const whole = `[${items.join(',')}]`;
  const answer =
    lockTimeoutMs === undefined
      ? db.query<Enqueued>(ENQUEUE_MANY, [whole])
      : db.query<Enqueued>(ENQUEUE_MANY_IN_TIME, [whole, String(lockTimeoutMs)]);
  return (await answer.catch(named)).rows;
}

// Without keys there is nothing to answer but an id, and the plain function takes half the time of the other.
const ENQUEUE = `
SELECT millrace.enqueue(
  kind => $1,
  payload => $2::text::jsonb,
  queue => $3,
  subject => $4,
  max_attempts => $5::int
) AS id`;

// A text of its own, since Postgres works each parameter out anew in every call: with these six, all of them null, a call takes the
// database a tenth more: 352 µs of CPU in place of 320 (the least of 14 rounds of 200 calls, Postgres 18.4).
const ENQUEUE_WHOLE = `
SELECT millrace.enqueue(
  kind => $1,
  payload => $2::text::jsonb,
  queue => $3,
  subject => $4,
  max_attempts => $5::int,
  run_at => coalesce($6::text::timestamptz, clock_timestamp() + make_interval(secs => $7::float8)),
  priority => $8::int,
  id => $9::uuid,
  request_id => $10,
  traceparent => $11
) AS id`;

/** Puts one job in as it is, like insertJobs. What is out of bounds is SQLSTATE 23514 if the job has no key. */
export async function insertJob(db: Db, job: NewJob, patience?: Patience): Promise<Enqueued> {
  return insertWith(db, job, jsonOf(job.payload), patience);
}

/** Puts one job in, like insertJob, with the payload as JSON. */
export async function insertWith(db: Db, job: Unloaded, payload: string, patience?: Patience): Promise<Enqueued> {
  if (hasKey(job)) return (await insertItems(db, [itemOf(job, payload)], patience))[0] as Enqueued;
  const { runAt, delaySeconds, priority, id, requestId, traceparent } = job;
  const values = [job.kind, payload, job.queue, job.subject, job.maxAttempts].map(orNull);
  const others = [runAt, delaySeconds, priority, id, requestId, traceparent].map(orNull);
  const { rows } = others.every((value) => value === null)
    ? await db.query<{ id: JobId }>(ENQUEUE, values)
    : await db.query<{ id: JobId }>(ENQUEUE_WHOLE, [...values, ...others]);
  return { id: (rows[0] as { id: JobId }).id, outcome: 'created', pruned: false };
}

/** Whether others may stand in its way, or answer for it. */
export function hasKey({ idempotencyKey, uniqueKey, uniqueWhile, replace }: Unloaded): boolean {
  return (idempotencyKey ?? uniqueKey ?? uniqueWhile ?? replace) !== undefined;
}

/** A job without its payload, which goes beside it as JSON. */
export type Unloaded = Omit<NewJob, 'payload'>;

/** An item of millrace.enqueue_many as JSON, with the fields as the wire names them. `payload`: JSON. */
export function itemOf(job: Unloaded, payload: string): string {
  const fields = JSON.stringify({
    id: job.id,
    kind: job.kind,
    run_at: job.runAt,
    delay_seconds: job.delaySeconds,
    priority: job.priority,
    queue: unless(DEFAULTS.queue, job.queue),
    subject: job.subject,
    max_attempts: unless(DEFAULTS.maxAttempts, job.maxAttempts),
    idempotency_key: job.idempotencyKey,
    unique_key: job.uniqueKey,
    unique_while: job.uniqueWhile,
    replace: job.replace,
    request_id: job.requestId,
    traceparent: job.traceparent,
  });
  // The payload goes in as text: to JSON.stringify it would have to be given parsed.
  return `{"payload":${payload},${fields.slice(1)}`;
}

/** Not every client takes undefined. */
function orNull(value: unknown): unknown {
  return value ?? null;
}

function jsonOf(payload: unknown): string {
  return JSON.stringify(payload) ?? 'null';
}

/** A default is not sent: an item with such a field keeps the database from the short check of a batch (migrations/0019). */
function unless<T>(fallback: T, value: T | undefined): T | undefined {
  return value === fallback ? undefined : value;
}

/** Turns the database's own error into ours; its DETAIL says which items: `index=3` or `index=3,7`. */
function named(error: unknown): never {
  if (sqlState(error) !== 'MR001') throw error;
  const { message, detail } = error as Error & { detail?: string };
  const indexes = detail?.replace('index=', '').split(',').map(Number) ?? [0];
  throw new IdempotencyKeyReusedError(message, indexes, { cause: error });
}
