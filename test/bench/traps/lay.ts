import type { Db } from '../../../functions/queue/db.ts';

/** What the worker has a processor for. */
export const KIND = 'bench.kind';

export interface Laid {
  readonly rows: number;
  /** Default KIND. */
  readonly kind?: string;
  /** Expression of the row's number `n`. Default 0. */
  readonly priority?: string;
  /** Seconds from now at which the first is due; the others follow within a minute. Default 0: all now. */
  readonly dueInSeconds?: number;
}

/** So many at once: what a statement holds in memory stays small. */
const CHUNK = 250_000;

/** Pending jobs, in the order in which they are due. */
export async function pending(db: Db, { rows, kind = KIND, priority = '0', dueInSeconds = 0 }: Laid): Promise<void> {
  await chunks(rows, (from, to) =>
    db.query(
      `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series($1::int, $2::int) n),
            payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
       INSERT INTO millrace.live_jobs (id, kind, priority, run_at, payload_bytes)
       SELECT id, $3, ${priority},
              clock_timestamp() + make_interval(secs => CASE $4::float8 WHEN 0 THEN 0 ELSE $4 + 60.0 * n / $5::int END), 2
       FROM job
       ORDER BY n`,
      [from, to, kind, dueInSeconds, rows],
    ),
  );
}

/** Running jobs of the worker's own kind, with an hour of lease. */
export async function processing(db: Db, rows: number): Promise<void> {
  await chunks(rows, (from, to) =>
    db.query(
      `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id FROM generate_series($1::int, $2::int)),
            payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
       INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until, started_at, payload_bytes)
       SELECT id, $3, 'processing', 1, gen_random_uuid(), clock_timestamp() + interval '1 hour', clock_timestamp(), 2
       FROM job`,
      [from, to, KIND],
    ),
  );
}

/** Completed jobs of today. */
export async function finished(db: Db, rows: number): Promise<void> {
  await chunks(rows, (from, to) =>
    db.query(
      `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id FROM generate_series($1::int, $2::int)),
            payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
       INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by,
                                           run_at, created_at, payload_bytes)
       SELECT id, $3, 'default', 'completed', 0, 1, 5, 0, gen_random_uuid(), now(), now(), 2 FROM job`,
      [from, to, KIND],
    ),
  );
}

async function chunks(rows: number, lay: (from: number, to: number) => Promise<unknown>): Promise<void> {
  for (let from = 1; from <= rows; from += CHUNK) await lay(from, Math.min(rows, from + CHUNK - 1));
}
