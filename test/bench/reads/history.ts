import type pg from 'pg';
import { layPastDays } from '../../support/partitions.ts';
import { layPayloads } from '../frame/payloads.ts';

/** What the reads are made over. */
export interface History {
  /** Finished jobs of the last week, with their payloads: three are of the kind `rare`, a hundredth are cancelled. */
  readonly finished: number;
  /** Of the last month. */
  readonly dead: number;
  /** Pending jobs, some due: three are of the kind `rare`. */
  readonly pending: number;
  readonly processing: number;
}

/** Retention of finished jobs, and of dead ones, as they are set by default. */
const DAYS = 7;
const DEAD_DAYS = 30;
/** As many kinds as a large application may have. */
const KINDS = 50;

const SECONDS_A_DAY = 86_400;

/**
 * Row `i` of $1 that were made over $2 seconds: 50 kinds in turn, and the kind `rare` after a tenth, a half and nine tenths. A
 * third are about one subject, `tenant`, a third about one in ten thousands of others, and a fiftieth about `branch`.
 */
const MADE = `
SELECT i, uuidv7(make_interval(secs => ago)) AS id, now() + make_interval(secs => ago) AS at,
       CASE WHEN i IN ($1 / 10, $1 / 2, $1 * 9 / 10) THEN 'rare' ELSE 'kind.' || i % ${KINDS} END AS kind,
       CASE
         WHEN i % 3 = 0 OR i = $1 / 2 THEN 'tenant'
         WHEN i % 3 = 1 THEN 'invoice:' || i / 10
         WHEN i / ${KINDS} % 16 = 0 THEN 'branch'
       END AS subject
FROM generate_series(1, $1::int) i, LATERAL (SELECT (i - $1) * ($2::float8 / $1) AS ago) age`;

const FINISHED = `
INSERT INTO millrace.finished_jobs (id, kind, subject, queue, status, priority, attempts, max_attempts, reaps, locked_by,
                                    run_at, created_at, started_at, finished_at, payload_bytes)
SELECT id, kind, subject, 'default', CASE WHEN i % 100 = 1 THEN 'cancelled' ELSE 'completed' END, 0, 1, 5, 0, id,
       at, at, at, at, 9
FROM (${MADE}) made`;

const DEAD = `
INSERT INTO millrace.dead_jobs (id, kind, subject, queue, priority, attempts, max_attempts, reaps, run_at, created_at,
                                started_at, finished_at, payload_bytes, payload, errors)
SELECT id, kind, subject, 'default', 0, 5, 5, 0, at, at, at, at, 9, '{"n": 1}',
       '[{"attempt": 5, "name": "Error", "message": "boom", "stack": "Error: boom"}]'
FROM (${MADE}) made`;

const PENDING = `
INSERT INTO millrace.live_jobs (id, kind, subject, priority, run_at, created_at, payload_bytes)
SELECT id, kind, subject, i % 11 - 5, at + interval '1 hour', at, 9
FROM (${MADE}) made`;

const PROCESSING = `
INSERT INTO millrace.live_jobs (id, kind, subject, status, attempts, locked_by, locked_until, run_at, created_at, started_at,
                                payload_bytes)
SELECT id, kind, subject, 'processing', 1, id, now() + interval '1 hour', at, at, at, 9
FROM (${MADE}) made`;

/** Counters as a reaper leaves them that has rolled up a minute ago, while 2,000 jobs/s come and go in batches of 100. */
const COUNTERS = `
INSERT INTO millrace.counters (kind, event, total)
SELECT kind, 'enqueued', count(*) FROM millrace.live_jobs GROUP BY kind`;

const DELTAS = `
INSERT INTO millrace.counter_deltas (kind, event, n)
SELECT 'kind.' || i % ${KINDS}, event, 50 FROM generate_series(1, 1200) i, unnest('{enqueued,completed}'::text[]) event`;

/** Loads it into an empty database that has been migrated, and vacuums. Minutes for tens of millions. */
export async function load(client: pg.Client, { finished, dead, pending, processing }: History): Promise<void> {
  await client.query(`SET maintenance_work_mem = '512MB'`);
  await layPastDays(client, DAYS);
  await withoutIndexes(client, ['finished_jobs', 'live_jobs', 'dead_jobs'], async () => {
    await client.query(FINISHED, [finished, DAYS * SECONDS_A_DAY]);
    await client.query(DEAD, [dead, DEAD_DAYS * SECONDS_A_DAY]);
    await client.query(PENDING, [pending, 2 * 3600]);
    await client.query(PROCESSING, [processing, 30]);
  });
  await layPayloads(client);
  await client.query(COUNTERS);
  await client.query(DELTAS);
  await client.query('VACUUM ANALYZE');
}

/** As `SELECT millrace.enqueue(…)` counts them, one transaction each, until a reaper comes by. */
export async function putInOneByOne(client: pg.Client, jobs: number): Promise<void> {
  await client.query(
    `INSERT INTO millrace.counter_deltas (kind, event, n)
     SELECT 'kind.' || i % ${KINDS}, 'enqueued', 1 FROM generate_series(1, $1::int) i`,
    [jobs],
  );
  await client.query('VACUUM ANALYZE millrace.counter_deltas');
}

/** Of jobs all over, live, finished and dead. */
export async function someIds(client: pg.Client, most: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ id: string }>(
    `SELECT id FROM (SELECT id FROM millrace.finished_jobs TABLESAMPLE SYSTEM (0.1) LIMIT $1) finished
     UNION ALL
     SELECT id FROM (SELECT id FROM millrace.live_jobs LIMIT $1 / 4) live
     UNION ALL
     SELECT id FROM (SELECT id FROM millrace.dead_jobs LIMIT $1 / 4) dead`,
    [most],
  );
  return rows.map(({ id }) => id);
}

/** Rows go in several times as fast, and the indexes are as new ones are. Keys stay. */
async function withoutIndexes(client: pg.Client, tables: readonly string[], fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
     FROM pg_index i
     JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = 'millrace'::regnamespace AND c.relname = ANY ($1) AND NOT i.indisprimary
     ORDER BY name`,
    [tables],
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  await fill();
  for (const { definition } of rows) await client.query(definition.replace(' ON ONLY ', ' ON '));
}
