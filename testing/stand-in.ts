import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Context } from '../functions/queue/context.ts';
import type { Contract } from '../functions/queue/contract.ts';
import type { Db } from '../functions/queue/db.ts';
import type { ClaimedJob } from '../functions/queue/job.ts';
import { requestIdOf } from '../functions/queue/schedule-of.ts';
import type { Frame } from './job-connection.ts';

const PUT_IN = `
WITH payload AS (
  INSERT INTO millrace.payloads (id, payload)
  VALUES ($1::uuid, $2::text::jsonb)
)
INSERT INTO millrace.live_jobs
  (id, kind, queue, status, attempts, max_attempts, locked_by, locked_until, subject, request_id, traceparent, started_at)
VALUES
  ($1::uuid, $3, $4, 'processing', $5::int, $6::int, $7::uuid, clock_timestamp() + interval '1 hour', $8, $9, $10,
   clock_timestamp())`;

const TAKE_OUT = `
WITH payload AS (
  DELETE FROM millrace.payloads
  WHERE id = $1::uuid
)
DELETE FROM millrace.finished_jobs
WHERE id = $1::uuid
RETURNING result`;

/**
 * The job that a single processor runs for. Its row is there from the beginning to the end of `ctx.transaction`, whose last
 * statement completes it, and never else: `enqueued` finds what the processor put in and nothing more.
 */
export class StandIn {
  readonly job: ClaimedJob;
  /** What `ctx.transaction` stored, once it is kept. */
  result: unknown;

  constructor(kind: string, contract: Contract, payload: unknown, over: Partial<Omit<Context['job'], 'kind'>> = {}) {
    const now = new Date().toISOString().replace('Z', '000Z');
    const attempts = over.attempt ?? 1;
    this.job = {
      id: over.id ?? uuidv7(),
      token: randomUUID(),
      kind,
      queue: over.queue ?? contract.queue,
      priority: 0,
      subject: over.subject ?? null,
      attempts,
      maxAttempts: over.maxAttempts ?? Math.max(contract.maxAttempts, attempts),
      reaps: 0,
      runAt: over.createdAt ?? now,
      createdAt: over.createdAt ?? now,
      waitedMs: 0,
      payload,
      requestId: over.requestId ?? (over.schedule ? requestIdOf(over.schedule) : null),
      traceparent: over.traceparent ?? null,
    };
  }

  frame(client: Db): Frame {
    const { id, payload, kind, queue, attempts, maxAttempts, token, subject, requestId, traceparent } = this.job;
    const values = [
      JSON.stringify(payload),
      kind,
      queue,
      attempts,
      maxAttempts,
      token,
      subject,
      requestId,
      traceparent,
    ];
    return {
      begun: async () => {
        await client.query(PUT_IN, [id, ...values]);
      },
      ending: async () => {
        const { rows } = await client.query<{ result: unknown }>(TAKE_OUT, [id]);
        this.result = rows[0]?.result;
      },
    };
  }
}
