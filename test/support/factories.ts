import { randomUUID } from 'node:crypto';
import type { QueryResultRow } from 'pg';
import type { Db } from '../../functions/queue/db.ts';

/** What every factory answers; `token` is the claim that holds or held the job, null if none ever did. */
export interface MadeJob<Token extends string | null = string | null> {
  readonly id: string;
  readonly token: Token;
  readonly kind: string;
}

export interface JobFields {
  id?: string;
  kind?: string;
  queue?: string;
  priority?: number;
  subject?: string;
  payload?: unknown;
  attempts?: number;
  maxAttempts?: number;
  reaps?: number;
  errors?: unknown[];
  /** Seconds ago that it was created (and its id made), default 0. */
  createdSecondsAgo?: number;
  cancelRequested?: boolean;
  requestId?: string;
  traceparent?: string;
  uniqueKey?: string;
  idempotencyKey?: string;
}

export interface PendingFields extends JobFields {
  /** Seconds from now; negative lies in the past. Default 0, which is due. */
  dueInSeconds?: number;
  /** Token of the claim that last put it back. */
  returnedBy?: string;
}

export interface ProcessingFields extends JobFields {
  token?: string;
  /** The lease ran out that long ago; default: it has a minute left. */
  leaseExpiredSecondsAgo?: number;
  /** Seconds the lease still has, default 60. */
  leaseSeconds?: number;
}

export interface EndedFields extends JobFields {
  /** Token that settled it; null: it never ran. Default a fresh one. */
  token?: string | null;
  /** Seconds ago that it ended, default 0. */
  finishedSecondsAgo?: number;
  result?: unknown;
}

/** A due job (unless `dueInSeconds` says otherwise), as `millrace.enqueue` leaves it. */
export async function pendingJob(db: Db, fields: PendingFields = {}): Promise<MadeJob<null>> {
  const job = await insertLive(db, { attempts: 0, ...fields }, 'pending', null, null, fields.dueInSeconds ?? 0);
  if (fields.returnedBy !== undefined) {
    await db.query('UPDATE millrace.live_jobs SET returned_by = $2 WHERE id = $1', [job.id, fields.returnedBy]);
  }
  return { ...job, token: null };
}

/** A claimed job in its first attempt, with a minute of lease. */
export async function processingJob(db: Db, fields: ProcessingFields = {}): Promise<MadeJob<string>> {
  const token = fields.token ?? randomUUID();
  const leaseSeconds =
    fields.leaseExpiredSecondsAgo === undefined ? (fields.leaseSeconds ?? 60) : -fields.leaseExpiredSecondsAgo;
  const job = await insertLive(db, { attempts: 1, ...fields }, 'processing', token, leaseSeconds, 0);
  return { ...job, token };
}

/** A completed job, or a cancelled one with `status: 'cancelled'`. */
export async function finishedJob(
  db: Db,
  fields: EndedFields & { status?: 'completed' | 'cancelled' } = {},
): Promise<MadeJob> {
  const job = { ...ended(fields), id: await idOf(db, fields) };
  await db.query('INSERT INTO millrace.payloads (id, payload) VALUES ($1, $2)', [job.id, json(fields.payload ?? {})]);
  await db.query(
    `INSERT INTO millrace.finished_jobs
       (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
        finished_at, payload_bytes, subject, errors, result, request_id, traceparent, unique_key,
        idempotency_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() - make_interval(secs => $10),
             clock_timestamp() - make_interval(secs => $10), clock_timestamp() - make_interval(secs => $11),
             clock_timestamp() - make_interval(secs => $11), $12, $13, $14, $15, $16, $17, $18, $19)`,
    [
      job.id,
      job.kind,
      job.queue,
      fields.status ?? 'completed',
      job.priority,
      job.attempts,
      job.maxAttempts,
      job.reaps,
      job.token,
      job.createdSecondsAgo,
      job.finishedSecondsAgo,
      json(fields.payload ?? {}).length,
      job.subject,
      job.errors,
      fields.result === undefined ? null : json(fields.result),
      job.requestId,
      job.traceparent,
      job.uniqueKey,
      job.idempotencyKey,
    ],
  );
  await count(db, job.kind, 'enqueued');
  await count(db, job.kind, fields.status ?? 'completed');
  return { id: job.id, token: job.token, kind: job.kind };
}

/** A buried job: all attempts spent, one error, its own copy of the payload. */
export async function deadJob(db: Db, fields: EndedFields = {}): Promise<MadeJob> {
  const job = { ...ended({ attempts: 5, ...fields }), id: await idOf(db, fields) };
  await db.query('INSERT INTO millrace.payloads (id, payload) VALUES ($1, $2)', [job.id, json(fields.payload ?? {})]);
  await db.query(
    `INSERT INTO millrace.dead_jobs
       (id, kind, queue, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
        finished_at, payload_bytes, subject, errors, payload, request_id, traceparent, unique_key,
        idempotency_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() - make_interval(secs => $9),
             clock_timestamp() - make_interval(secs => $9), clock_timestamp() - make_interval(secs => $10),
             clock_timestamp() - make_interval(secs => $10), $11, $12, $13, $14, $15, $16, $17, $18)`,
    [
      job.id,
      job.kind,
      job.queue,
      job.priority,
      job.attempts,
      job.maxAttempts,
      job.reaps,
      job.token,
      job.createdSecondsAgo,
      job.finishedSecondsAgo,
      json(fields.payload ?? {}).length,
      job.subject,
      job.errors ?? json([{ attempt: job.attempts, name: 'Error', message: 'boom' }]),
      json(fields.payload ?? {}),
      job.requestId,
      job.traceparent,
      job.uniqueKey,
      job.idempotencyKey,
    ],
  );
  await count(db, job.kind, 'enqueued');
  await count(db, job.kind, 'buried');
  return { id: job.id, token: job.token, kind: job.kind };
}

/** undefined: no such job. */
export async function statusOf(db: Db, id: string): Promise<string | undefined> {
  return (await rowOf(db, id))?.status as string | undefined;
}

/** The job's whole row of `millrace.jobs`. */
export async function rowOf(db: Db, id: string): Promise<QueryResultRow | undefined> {
  return (await db.query('SELECT * FROM millrace.jobs WHERE id = $1', [id])).rows[0];
}

/** The row as live_jobs has it, with what the view leaves out. */
export async function liveRowOf(db: Db, id: string): Promise<QueryResultRow | undefined> {
  return (await db.query('SELECT * FROM millrace.live_jobs WHERE id = $1', [id])).rows[0];
}

/** Moves a live job's times (run_at, lease, creation) into the past, as if `seconds` had gone by. Clocks are not faked. */
export async function ageLive(db: Db, id: string, seconds: number): Promise<void> {
  await db.query(
    `UPDATE millrace.live_jobs
     SET run_at = run_at - make_interval(secs => $2),
         locked_until = locked_until - make_interval(secs => $2),
         created_at = created_at - make_interval(secs => $2),
         started_at = started_at - make_interval(secs => $2)
     WHERE id = $1`,
    [id, seconds],
  );
}

/** The lease of a running job ended a second ago. */
export async function expireLease(db: Db, id: string): Promise<void> {
  await db.query(`UPDATE millrace.live_jobs SET locked_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [
    id,
  ]);
}

/** Sum of a counter over what is rolled up and what is not. */
export async function counterOf(db: Db, kind: string, event: string): Promise<number> {
  const { rows } = await db.query<{ n: string }>(
    `SELECT coalesce((SELECT total FROM millrace.counters WHERE kind = $1 AND event = $2), 0)
            + coalesce((SELECT sum(n) FROM millrace.counter_deltas WHERE kind = $1 AND event = $2), 0) AS n`,
    [kind, event],
  );
  return Number(rows[0]?.n);
}

/** A version 7 id as it would have been made that many seconds ago. */
export async function idFrom(db: Db, secondsAgo: number): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT overlay(millrace.uuidv7()::text
                    PLACING substr(millrace.uuidv7_floor(clock_timestamp() - make_interval(secs => $1))::text, 1, 13)
                    FROM 1) AS id`,
    [secondsAgo],
  );
  return (rows[0] as { id: string }).id;
}

async function insertLive(
  db: Db,
  fields: JobFields,
  status: string,
  token: string | null,
  leaseSeconds: number | null,
  dueInSeconds: number,
): Promise<{ id: string; kind: string }> {
  const job = { ...filled(fields), id: await idOf(db, fields) };
  await db.query('INSERT INTO millrace.payloads (id, payload) VALUES ($1, $2)', [job.id, json(fields.payload ?? {})]);
  await db.query(
    `INSERT INTO millrace.live_jobs
       (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, locked_until, run_at, created_at,
        started_at, payload_bytes, subject, errors, cancel_requested_at, request_id, traceparent,
        unique_key, idempotency_key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + make_interval(secs => $10),
             clock_timestamp() + make_interval(secs => $11), clock_timestamp() - make_interval(secs => $12),
             CASE WHEN $9::uuid IS NOT NULL THEN clock_timestamp() END, $13, $14, $15,
             CASE WHEN $16 THEN clock_timestamp() END, $17, $18, $19, $20)`,
    [
      job.id,
      job.kind,
      job.queue,
      status,
      job.priority,
      job.attempts,
      job.maxAttempts,
      job.reaps,
      token,
      leaseSeconds,
      dueInSeconds,
      job.createdSecondsAgo,
      json(fields.payload ?? {}).length,
      job.subject,
      job.errors,
      fields.cancelRequested ?? false,
      job.requestId,
      job.traceparent,
      job.uniqueKey,
      job.idempotencyKey,
    ],
  );
  await count(db, job.kind, 'enqueued');
  return { id: job.id, kind: job.kind };
}

function filled(fields: JobFields) {
  return {
    kind: fields.kind ?? 'test.kind',
    queue: fields.queue ?? 'default',
    priority: fields.priority ?? 0,
    attempts: fields.attempts ?? 1,
    maxAttempts: fields.maxAttempts ?? 5,
    reaps: fields.reaps ?? 0,
    subject: fields.subject ?? null,
    errors: fields.errors === undefined ? null : json(fields.errors),
    createdSecondsAgo: fields.createdSecondsAgo ?? 0,
    requestId: fields.requestId ?? null,
    traceparent: fields.traceparent ?? null,
    uniqueKey: fields.uniqueKey ?? null,
    idempotencyKey: fields.idempotencyKey ?? null,
  };
}

function ended(fields: EndedFields) {
  return {
    ...filled(fields),
    token: fields.token === undefined ? randomUUID() : fields.token,
    finishedSecondsAgo: fields.finishedSecondsAgo ?? 0,
  };
}

async function idOf(db: Db, fields: JobFields): Promise<string> {
  return fields.id ?? (await idFrom(db, fields.createdSecondsAgo ?? 0));
}

async function count(db: Db, kind: string, event: string): Promise<void> {
  await db.query('INSERT INTO millrace.counter_deltas (kind, event, n) VALUES ($1, $2, 1)', [kind, event]);
}

const json = (value: unknown): string => JSON.stringify(value);
