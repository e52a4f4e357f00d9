/* A worker process without an engine: loops of a claim and a completion. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { openClient } from '../../support/database.ts';
import { inside } from './inside.ts';
import type { Payload } from './system.ts';

export interface Settings {
  readonly connections: number;
  readonly batch: number;
}

interface Claimed {
  readonly id: string;
  readonly attempts: number;
  readonly payload: Payload;
}

const CLAIM = `
WITH claimed AS (
  UPDATE millrace.live_jobs j
  SET status = 'processing', attempts = attempts + 1, locked_by = $1, locked_until = now() + interval '40 s',
      started_at = now()
  WHERE j.id = ANY (ARRAY(
    SELECT i.id
    FROM millrace.live_jobs i
    WHERE i.status = 'pending' AND i.reaps < 2 AND i.queue = 'default' AND i.run_at <= now()
    ORDER BY i.priority DESC, i.run_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED))
  RETURNING j.id, j.attempts)
SELECT c.id, c.attempts, (SELECT p.payload FROM millrace.payloads p WHERE p.id = c.id) AS payload
FROM claimed c`;

const COMPLETE = `
WITH gone AS (
  DELETE FROM millrace.live_jobs j
  WHERE j.id = ANY ($1::uuid[]) AND j.locked_by = $2
  RETURNING j.*),
completed AS (
  INSERT INTO millrace.finished_jobs
    (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by, run_at, created_at, started_at,
     cancel_requested_at, payload_bytes, subject, idempotency_key, unique_key, concurrency_key, schedule_name, errors,
     result, request_id, traceparent)
  SELECT g.id, g.kind, g.queue, 'completed', g.priority, g.attempts, g.max_attempts, g.reaps, g.locked_by, g.run_at,
         g.created_at, g.started_at, g.cancel_requested_at, g.payload_bytes, g.subject, g.idempotency_key, g.unique_key,
         g.concurrency_key, g.schedule_name, g.errors, 'null'::jsonb, g.request_id, g.traceparent
  FROM gone g
  RETURNING kind),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT c.kind, 'completed', count(*)
  FROM completed c
  GROUP BY c.kind)
SELECT count(*)::int AS n FROM completed`;

await inside<Settings>(async ({ databaseUrl, settings: { connections, batch }, job, settled }) => {
  const clients = await Promise.all(Array.from({ length: connections }, () => openClient(databaseUrl)));
  let stopping = false;
  const loop = async (client: pg.Client) => {
    while (!stopping) {
      const token = randomUUID();
      const { rows } = await client.query<Claimed>({ name: 'claim', text: CLAIM, values: [token, batch] });
      if (rows.length === 0) {
        await sleep(10);
        continue;
      }
      await Promise.all(rows.map(({ payload, attempts }) => job(payload, attempts)));
      const ids = rows.map(({ id }) => id);
      const answer = await client.query<{ n: number }>({ name: 'complete', text: COMPLETE, values: [ids, token] });
      settled(answer.rows[0]?.n ?? 0);
    }
  };
  let loops: Promise<unknown> = Promise.resolve();
  return {
    go: () => {
      loops = Promise.all(clients.map(loop));
    },
    stop: async () => {
      stopping = true;
      await loops;
      await Promise.all(clients.map((client) => client.end()));
    },
  };
});
