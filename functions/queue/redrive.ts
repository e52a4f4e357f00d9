import type { Db } from './db.ts';
import type { JobId, Status } from './job.ts';
import type { Operator } from './operator.ts';
import { TWIN } from './twin.ts';

export type RedriveAnswer =
  | 'redriven'
  | { readonly wrongState: Status }
  /** This job has the same unique key and is pending: it will run, and the dead one stays dead. */
  | { readonly twin: JobId };

/*
 * The payload may have left with its day's partition; the dead job's own copy brings it back.
 * ON CONFLICT: a twin by unique key leaves the row where it is, in this batch or elsewhere, and whoever calls within a
 * transaction goes on. Rows are locked and put in in the order of their ids, so that two redrives never wait for each other.
 * A request that comes again redrives nothing that it has redriven, dead again or not; and no other page in the place of one
 * that it has done, should its first try be decided only now.
 */
const REDRIVE = `
WITH patience AS MATERIALIZED (
  SELECT set_config('lock_timeout', coalesce($2, current_setting('lock_timeout')), true)
),
dead AS MATERIALIZED (
  SELECT d.*
  FROM millrace.dead_jobs d
  WHERE d.id = ANY (ARRAY(SELECT i.id FROM patience CROSS JOIN unnest($1::uuid[]) i(id)))
    AND NOT EXISTS (
      SELECT
      FROM millrace.operator_log l
      WHERE l.request_id = $4 AND l.action = 'redrive' AND l.at > now() - interval '10 minutes'
        AND l.target - 'tried' - 'next' = $3::jsonb - 'tried' - 'next')
    AND d.id <> ALL (ARRAY(
      SELECT (l.target ->> 'id')::uuid
      FROM millrace.operator_log l
      WHERE l.request_id = $4 AND l.action = 'redrive' AND l.target ? 'id' AND l.at > now() - interval '10 minutes'))
  ORDER BY d.id
  FOR UPDATE
),
redriven AS (
  INSERT INTO millrace.live_jobs
    (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, started_at, payload_bytes, subject,
     idempotency_key, unique_key, concurrency_key, schedule_name, errors, request_id, traceparent)
  SELECT d.id, d.kind, d.queue, d.priority, 0, d.max_attempts, d.reaps, greatest(d.run_at, clock_timestamp()),
         d.created_at, d.started_at, d.payload_bytes, d.subject, d.idempotency_key, d.unique_key, d.concurrency_key,
         d.schedule_name, d.errors, d.request_id, d.traceparent
  FROM dead d
  ORDER BY d.id
  ON CONFLICT DO NOTHING
  RETURNING id, kind
),
gone AS (
  DELETE FROM millrace.dead_jobs d
  WHERE d.id = ANY (ARRAY(SELECT r.id FROM redriven r))
),
payload AS (
  INSERT INTO millrace.payloads (id, payload)
  SELECT d.id, d.payload
  FROM dead d
  WHERE d.id = ANY (ARRAY(SELECT r.id FROM redriven r))
  ON CONFLICT DO NOTHING
),
counted AS (
  INSERT INTO millrace.counter_deltas (kind, event, n)
  SELECT r.kind, 'redriven', count(*)
  FROM redriven r
  GROUP BY r.kind
),
logged AS (
  INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
  SELECT coalesce($5, session_user), 'redrive', $3, count(*), $4
  FROM redriven r
  HAVING count(*) > 0
)
SELECT r.id FROM redriven r`;

// `acted`: as REDRIVE has it, or the two would wait for each other's answer for ever. A live row first: should there be two of
// one id, the dead one cannot come back.
const FOUND = `
SELECT EXISTS (
         SELECT
         FROM millrace.operator_log l
         WHERE l.request_id = $2 AND l.action = 'redrive' AND (l.target ->> 'id')::uuid = $1
           AND l.at > now() - interval '10 minutes') AS acted,
       found.status, found.twin
FROM (VALUES (1)) one
LEFT JOIN LATERAL (
  SELECT j.status, CASE WHEN j.unique_key IS NOT NULL THEN ${TWIN} END AS twin
  FROM millrace.jobs j
  WHERE j.id = $1
  ORDER BY j.status = 'dead'
  LIMIT 1
) found ON true`;

interface Found {
  acted: boolean;
  status: Status | null;
  twin: JobId | null;
}

/**
 * Makes a dead job pending again, due now, with all its attempts; its errors stay, and so does its count of reaps: one
 * that ended its workers still runs alone. A cancel request from before is forgotten. Resolves undefined if there is no
 * such job. `patience`: how long it waits for somebody's open transaction that holds its unique key, `3s`; then it rejects
 * with 55P03. Default as long as the connection does.
 */
export async function redrive(db: Db, id: JobId, by?: Operator, patience?: string): Promise<RedriveAnswer | undefined> {
  const target = { id };
  for (;;) {
    if ((await putBack(db, [id], target, by, patience)).length === 1) return 'redriven';
    const { rows } = await db.query<Found>(FOUND, [id, by?.requestId ?? null]);
    const { acted, status, twin } = rows[0] as Found;
    if (acted) return 'redriven';
    if (status === null) return undefined;
    if (status !== 'dead') return { wrongState: status };
    if (twin !== null) return { twin };
    // It was buried, or its twin claimed, between the two statements: try again.
  }
}

/** Makes those of them pending that are dead and have no twin, and logs it with this target. Resolves their ids. */
export async function putBack(
  db: Db,
  ids: readonly JobId[],
  target: object,
  by?: Operator,
  patience?: string,
): Promise<JobId[]> {
  const { rows } = await db.query<{ id: JobId }>(REDRIVE, [
    ids,
    patience ?? null,
    JSON.stringify(target),
    by?.requestId ?? null,
    by?.actor ?? null,
  ]);
  return rows.map((row) => row.id);
}
