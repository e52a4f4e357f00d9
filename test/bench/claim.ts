/**
 * What a claim costs the database: `node test/bench/claim.ts [--quick]`, on DATABASE_URL (a database of its own there) or
 * a Postgres of its own. Times are those of EXPLAIN (ANALYZE, TIMING OFF): `execution` is the statement's own, with what
 * millrace.claim does, `planning` comes on top; neither has the commit in it. `roundTrip` is what the client sees, commit
 * and loopback included. Goal: p50 of planning and execution of a claim of one job below 1 ms.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../functions/migrate/runner.ts';
import { claim } from '../../functions/queue/claim.ts';
import type { Db } from '../../functions/queue/db.ts';
import { openPosition, type Position } from '../../functions/queue/marks.ts';
import { startPostgres } from '../../local/postgres.ts';
import { createDatabase } from '../support/database.ts';

const QUICK = process.argv.includes('--quick');
const PENDING = QUICK ? 10_000 : 100_000;
const FINISHED = QUICK ? 50_000 : 1_000_000;
const SAMPLES = QUICK ? 200 : 2000;
const GOAL_MS = 1;
const KINDS = new Map([
  ['bench.one', 30],
  ['bench.two', 30],
]);

const server = process.env.DATABASE_URL ? undefined : await ownServer();
const database = await createDatabase((process.env.DATABASE_URL ?? server?.url) as string);
try {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await bench(client);
  } finally {
    await client.end();
  }
} finally {
  await database.drop();
  await server?.stop();
}

async function bench(client: pg.Client): Promise<void> {
  await migrate(client, { directory: new URL('../../migrations/', import.meta.url) });
  await load(client);
  const results = {
    'claim of 1': await measure(client, { limit: 1, aged: 0, samples: SAMPLES }),
    'claim of 1, the oldest': await measure(client, { limit: 1, aged: 1, samples: SAMPLES / 4 }),
    'claim of 100': await measure(client, { limit: 100, aged: 10, samples: SAMPLES / 20 }),
    'empty poll': await measure(client, { limit: 10, aged: 1, samples: SAMPLES, queue: 'empty' }),
  };
  const settings = {
    pending: PENDING,
    finished: FINISHED,
    samples: SAMPLES,
    node: process.version,
    ...(await settingsOf(client)),
  };
  console.log(JSON.stringify({ bench: 'claim', settings, results }));
  for (const [what, { execution, planning, roundTrip }] of Object.entries(results)) {
    console.log(`${what}: execution ${text(execution)}, planning ${text(planning)}, round trip ${text(roundTrip)}`);
  }
  const { execution, planning } = results['claim of 1'];
  const p50 = Number((execution.p50 + planning.p50).toFixed(3));
  console.log(`claim of 1: database time p50 ${p50} ms (goal: below ${GOAL_MS} ms${p50 < GOAL_MS ? '' : ', MISSED'})`);
}

/** Two kinds, three priorities, payloads of about 300 bytes. */
async function load(client: pg.Client): Promise<void> {
  const payload = JSON.stringify({ text: 'x'.repeat(280) });
  await client.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, $1::int) n),
          payload AS (INSERT INTO millrace.payloads SELECT id, $2::jsonb FROM job)
     INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by,
                                         run_at, created_at, payload_bytes)
     SELECT id, 'bench.one', 'default', 'completed', 0, 1, 5, 0, gen_random_uuid(), now(), now(), 300 FROM job`,
    [FINISHED, payload],
  );
  await client.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, $1::int) n),
          payload AS (INSERT INTO millrace.payloads SELECT id, $2::jsonb FROM job)
     INSERT INTO millrace.live_jobs (id, kind, priority, run_at, payload_bytes)
     SELECT id, CASE n % 2 WHEN 0 THEN 'bench.one' ELSE 'bench.two' END, n % 3 - 1,
            clock_timestamp() - interval '1 hour' + n * interval '1 ms', 300
     FROM job`,
    [PENDING, payload],
  );
  await client.query('VACUUM ANALYZE');
}

interface Case {
  readonly limit: number;
  readonly aged: number;
  readonly samples: number;
  readonly queue?: string;
}

/** Each sample is explained and rolled back, then made: the next one finds other rows. */
async function measure(client: pg.Client, { limit, aged, samples, queue = 'default' }: Case) {
  const times = { execution: [] as number[], planning: [] as number[], roundTrip: [] as number[] };
  let position: Position = await openPosition(client, queue, KINDS);
  const db: Db = {
    query: async (text, values) => {
      await client.query('BEGIN');
      const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${text}`, values);
      await client.query('ROLLBACK');
      times.execution.push(rows[0]['QUERY PLAN'][0]['Execution Time']);
      times.planning.push(rows[0]['QUERY PLAN'][0]['Planning Time']);
      const startedAt = performance.now();
      const answer = await client.query(text, values);
      times.roundTrip.push(performance.now() - startedAt);
      return answer;
    },
  };
  for (let n = 0; n < samples; n++) {
    const request = { token: randomUUID(), queue, limit, aged, kinds: KINDS, position, maxBytes: 4_194_304 };
    ({ position } = await claim(db, request));
  }
  return { execution: spread(times.execution), planning: spread(times.planning), roundTrip: spread(times.roundTrip) };
}

function spread(values: number[]): { p50: number; p99: number } {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Number((sorted[Math.floor((sorted.length - 1) * share)] as number).toFixed(3));
  return { p50: at(0.5), p99: at(0.99) };
}

function text({ p50, p99 }: { p50: number; p99: number }): string {
  return `p50 ${p50} ms, p99 ${p99} ms`;
}

async function settingsOf(client: pg.Client): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    `SELECT name, current_setting(name) AS setting FROM pg_settings
     WHERE name IN ('server_version', 'shared_buffers', 'synchronous_commit', 'fsync', 'jit')`,
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

async function ownServer(): Promise<{ url: string; stop(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  const { url, stop } = await startPostgres({ directory, settings: { shared_buffers: '512MB', max_wal_size: '4GB' } });
  return { url, stop: () => stop().then(() => rm(directory, { recursive: true, force: true })) };
}
