import { randomUUID } from 'node:crypto';
import pg from 'pg';
import * as z from 'zod';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { type Claimed, claim } from '../../functions/queue/claim.ts';
import { claimSuspect } from '../../functions/queue/claim-suspect.ts';
import { complete } from '../../functions/queue/complete.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { erase } from '../../functions/queue/erase.ts';
import type { Claim } from '../../functions/queue/job.ts';
import { type Kinds, openPosition, type Position } from '../../functions/queue/marks.ts';
import { pause } from '../../functions/queue/pause.ts';
import { writeProgress } from '../../functions/queue/progress.ts';
import { reap } from '../../functions/queue/reap.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { redriveMany } from '../../functions/queue/redrive-many.ts';
import { release } from '../../functions/queue/release.ts';
import { releaseTokens } from '../../functions/queue/release-tokens.ts';
import { retry } from '../../functions/queue/retry.ts';
import { watch } from '../../functions/queue/watch.ts';
import { createDatabase } from '../support/database.ts';
import { deadJob, finishedJob, pendingJob } from '../support/factories.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { provideServer } from '../support/server.ts';
import { KINDS } from './claiming.ts';
import { costOf, type PlanMode } from './pages.ts';

/**
 * On a server of this file alone. A transaction that is open in any database of a server keeps index scans in all of them from
 * marking the entries of dead rows, so what a statement looks at would depend on the tests beside it.
 */
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
const test = base.extend('fileDatabase', { scope: 'file' }, async ({}, { onCleanup }) => {
  const server = await provideServer(inject('postgresMajor'));
  const database = await createDatabase(server.url);
  onCleanup(async () => {
    await database.drop();
    await server.stop();
  });
  const client = await database.pool.connect();
  await migrate(client, { directory: migrationsDirectory() }).finally(() => client.release());
  return database;
});

const BATCH = 10;
/** Of each sort. */
const MANY = 12_500;
const kinds: Kinds = new Map([...KINDS, ['paused.kind', 30]]);
const onDead = {
  jobs: new Map([['test.kind', { kind: 'told.kind', queue: 'default', maxAttempts: 5 }]]),
  refused: () => {},
};
const contracts = {
  'test.kind': defineJob({ payload: z.unknown(), onDead: 'told.kind' }),
  'told.kind': defineJob({ payload: z.unknown() }),
};
const error = { attempt: 1, name: 'Error', message: 'boom' };

/**
 * What may lie around a claim: a deep backlog of its own kinds, as many rows each that are due later but more urgent, of
 * a paused kind, and of kinds that it lacks (less urgent, so that only the share of the oldest meets them); running jobs;
 * finished and dead jobs. Those of its own kinds that are due have a unique key each.
 */
async function loadAll(db: Db): Promise<void> {
  await load(db, { dueInSeconds: 3600, priority: 5 });
  await load(db, { dueInSeconds: -3600, kind: 'foreign.kind', priority: -5 });
  await load(db, { dueInSeconds: -3600, kind: 'paused.kind' });
  await load(db, { dueInSeconds: -1800, keys: 'backlog ' });
  await pause(db, 'kind', 'paused.kind');
  await load(db, { dueInSeconds: -7200, rows: 1000, kind: 'running.kind' });
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = 1, locked_by = gen_random_uuid(), locked_until = now() + interval '1 hour'
     WHERE kind = 'running.kind'`,
  );
  await db.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id FROM generate_series(1, $1::int)),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
     INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, locked_by,
                                         run_at, created_at, payload_bytes)
     SELECT id, 'test.kind', 'default', 'completed', 0, 1, 5, 0, gen_random_uuid(), now(), now(), 2 FROM job`,
    [MANY],
  );
  await db.query(
    `INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at,
                                     payload_bytes, unique_key, errors, payload)
     SELECT millrace.uuidv7(), CASE WHEN n % 2 = 0 THEN 'test.kind' ELSE 'dead.kind' END, 'default', 0, 5, 5, 0, now(),
            now(), 2, 'dead ' || n, '[{"name": "Error", "message": "boom"}]', '{}'
     FROM generate_series(1, $1::int) n`,
    [MANY],
  );
}

async function load(
  db: Db,
  {
    dueInSeconds,
    kind = 'test.kind',
    priority = 0,
    rows = MANY,
    keys = null,
  }: Record<string, unknown> & { dueInSeconds: number },
): Promise<void> {
  await db.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id FROM generate_series(1, $1::int)),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
     INSERT INTO millrace.live_jobs (id, kind, priority, run_at, payload_bytes, unique_key)
     SELECT id, $2, $3, clock_timestamp() + make_interval(secs => $4 + random() * 60), 2,
            $5 || row_number() OVER (ORDER BY id)
     FROM job`,
    [rows, kind, priority, dueInSeconds, keys],
  );
}

/** Statistics come from ANALYZE alone in this file. */
async function stopAutovacuum(db: Db): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = 'millrace'::regnamespace AND relkind = 'r'`,
  );
  for (const { name } of rows) await db.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
}

type Verb = (db: Db) => Promise<unknown>;

const ask = (db: Db, position: Position, over: { limit?: number; aged?: number } = {}) =>
  claim(db, {
    token: randomUUID(),
    queue: 'default',
    limit: BATCH,
    aged: 1,
    kinds,
    position,
    maxBytes: 4_000_000,
    ...over,
  });

/** Claims of jobs that are running, their leases `leaseSeconds` from now. */
async function running(
  db: Db,
  rows: number,
  { token = randomUUID(), leaseSeconds = 60, keys = null as string | null } = {},
): Promise<Claim[]> {
  const { rows: claims } = await db.query<Claim & { id: string }>(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id FROM generate_series(1, $1::int)),
          payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
     INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until, unique_key)
     SELECT id, 'test.kind', 'processing', 1, $2, clock_timestamp() + make_interval(secs => $3),
            $4 || row_number() OVER (ORDER BY id)
     FROM job
     RETURNING id, locked_by AS token`,
    [rows, token, leaseSeconds, keys],
  );
  return claims;
}

/**
 * Each verb on a batch, and the pages it may look at for a job: about twice what it does. Those that put in one job are called
 * for ten, since one that splits a page of an index looks at many more. Setting up is not measured.
 */
async function verbs(
  db: Db,
  position: Position,
  batch: number,
): Promise<[name: string, pages: number, jobs: number, Verb][]> {
  const watched = await running(db, batch);
  const told = (await running(db, batch)).map((job) => ({ ...job, fraction: 0.5, note: 'half' }));
  const completed = (await running(db, batch)).map((job) => ({ ...job, result: 1 }));
  const retried = (await running(db, batch)).map((job) => ({ ...job, error, delaySeconds: 1 }));
  const buried = (await running(db, batch)).map((job) => ({ ...job, error }));
  const mourned = (await running(db, batch)).map((job) => ({ ...job, error }));
  const released = (await running(db, batch)).map((job) => ({ ...job, delaySeconds: 0 }));
  const [{ token = '' } = {}] = await running(db, batch);
  // Of these, one half has a twin in the backlog, the other has a key that nobody else has.
  const back = [
    ...(await running(db, batch / 2, { keys: 'backlog ' })),
    ...(await running(db, batch / 2, { keys: randomUUID() })),
  ];
  const givenBack = back.map((job) => ({ ...job, error, delaySeconds: 1 }));
  // One half of these dies, and is told of.
  const lost = (await running(db, batch, { leaseSeconds: -1 })).map(({ id }) => id);
  await db.query('UPDATE millrace.live_jobs SET attempts = max_attempts WHERE id = ANY ($1)', [lost.slice(batch / 2)]);
  await running(db, batch / 2, { leaseSeconds: -3, keys: 'backlog ' });
  await running(db, batch / 2, { leaseSeconds: -2, keys: randomUUID() });
  await pendingJob(db, { reaps: 2, attempts: 2 });
  // So many that it would cost to read all of what operators have done.
  await db.query(
    `INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
     SELECT 'somebody', 'redrive', jsonb_build_object('id', gen_random_uuid()), 1, gen_random_uuid()::text
     FROM generate_series(1, 1000)`,
  );
  const pending = await ten(() => pendingJob(db));
  const dead = await ten(() => deadJob(db, { uniqueKey: randomUUID() }));
  const ended = await finishedJob(db);
  const taken = await ten(() => deadJob(db, { uniqueKey: 'backlog 7' }));
  return [
    ['claim', 60, batch, (on) => ask(on, position, { limit: batch, aged: batch / 10 })],
    ['claimSuspect', 70, 1, (on) => claimSuspect(on, { token: randomUUID(), queue: 'default', kinds })],
    ['watch', 8, batch, (on) => watch(on, watched)],
    ['writeProgress', 16, batch, (on) => writeProgress(on, told)],
    ['writeProgress, again', 16, batch, (on) => writeProgress(on, told)],
    ['complete', 25, batch, (on) => complete(on, completed)],
    ['complete, repeated', 15, batch, (on) => complete(on, completed)],
    ['retry', 60, batch, (on) => retry(on, retried)],
    ['bury', 35, batch, (on) => bury(on, buried)],
    ['bury with onDead', 70, batch, (on) => bury(on, mourned, { onDead })],
    ['release', 60, batch, (on) => release(on, released)],
    ['releaseTokens', 60, batch, (on) => releaseTokens(on, [token])],
    ['retry with unique keys', 60, batch, (on) => retry(on, givenBack)],
    ['reap with unique keys', 60, batch, (on) => reap(on, { limit: batch })],
    ['reap', 60, batch, (on) => reap(on, { limit: batch, contracts })],
    ['cancel', 50, 10, (on) => each(pending, ({ id }) => cancel(on, id))],
    ['redrive', 50, 10, (on) => each(dead, ({ id }) => redrive(on, id))],
    ['redrive beside a twin', 50, 10, (on) => each(taken, ({ id }) => redrive(on, id))],
    ['erase', 150, 1, (on) => erase(on, ended.id)],
    ['enqueue', 50, 10, (on) => ten(() => insertJob(on, { kind: 'test.kind', payload: {} }))],
  ];
}

async function ten<T>(make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < 10) made.push(await make());
  return made;
}

async function each<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  for (const item of items) await act(item);
}

/**
 * Has the entries of dead rows in the index of leases marked as dead, as the first index scan that passes them does: what a
 * verb before has left there is not the cost of the next one, and how much of it stands in its way is a matter of seconds.
 */
async function passDead(client: pg.Client): Promise<void> {
  await client.query('BEGIN');
  await client.query('SET LOCAL enable_seqscan = off');
  await client.query('SET LOCAL enable_bitmapscan = off');
  await client.query(`SELECT id FROM millrace.live_jobs WHERE status = 'processing' ORDER BY locked_until`);
  await client.query('COMMIT');
}

async function check(db: Db, client: pg.Client): Promise<void> {
  for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
    for (const batch of [10, 300]) {
      // The first claim passes the rows that are not for it; its marks spare the next ones that.
      const { position } = await ask(db, await openPosition(db, 'default', kinds));
      for (const [name, limit, jobs, verb] of await verbs(db, position, batch)) {
        await passDead(client);
        const { pages, rowsScanned, partitions } = await costOf(client, mode, verb);
        const what = `${name} of ${batch}, ${mode}`;
        expect.soft(pages / jobs, `${what}: pages for each job`).toBeLessThan(limit);
        // A table of a few rows may be read whole.
        expect.soft(rowsScanned, `${what}: rows scanned`).toBeLessThan(50);
        expect.soft(partitions, `${what}: partitions in a statement that locks`).toEqual([]);
      }
    }
  }
}

async function connected<T>(url: string, body: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return body(client).finally(() => client.end());
}

// EXPLAIN sees a call there, not what the function does, so `partitions` below says nothing of the claim.
test('the claim looks into no partition: payloads are read by a function of their own', async ({ db }) => {
  const { rows } = await db.query<{ body: string }>(`SELECT prosrc AS body FROM pg_proc WHERE proname = 'claim'`);
  expect(rows).toEqual([{ body: expect.stringContaining('millrace.payloads_of(') }]);
  expect(rows[0]?.body).not.toMatch(/\b(payloads|finished_jobs|jobs)\b/);
});

describe('whatever lies around, each verb looks at few pages and reads no table', () => {
  // In this order: statistics outlive a TRUNCATE. Each on rows of its own: what a check leaves dead costs the next one.
  test('without statistics', async ({ db, databaseUrl }) => {
    await stopAutovacuum(db);
    await loadAll(db);
    await connected(databaseUrl, (client) => check(db, client));
  });

  test('with statistics of what is there', async ({ db, databaseUrl }) => {
    await stopAutovacuum(db);
    await loadAll(db);
    await db.query('ANALYZE');
    await connected(databaseUrl, (client) => check(db, client));
  });

  test('with statistics of a time when all was different', async ({ db, databaseUrl }) => {
    await stopAutovacuum(db);
    // Every job had a kind of its own, and was either running on an expired lease or a suspect that was due.
    await load(db, { dueInSeconds: -60, rows: 2000 });
    await db.query(
      `UPDATE millrace.live_jobs
       SET kind = 'kind.' || id, attempts = 4, reaps = 3`,
    );
    await db.query(
      `UPDATE millrace.live_jobs
       SET status = 'processing', locked_by = gen_random_uuid(), locked_until = now() - interval '1 hour'
       WHERE random() < 0.5`,
    );
    await db.query('ANALYZE');
    await db.query('DELETE FROM millrace.live_jobs');
    await db.query('DELETE FROM millrace.payloads');
    await loadAll(db);
    await connected(databaseUrl, (client) => check(db, client));
  });
});

test('a page of a redrive by filter reads no more than it may look at, whatever else is dead', async ({
  db,
  databaseUrl,
}) => {
  await stopAutovacuum(db);
  await db.query(
    `INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at,
                                     payload_bytes, errors, payload)
     SELECT millrace.uuidv7(), CASE WHEN n % 1000 = 0 THEN 'rare.kind' ELSE 'test.kind' END, 'default', 0, 5, 5, 0, now(),
            now(), 2, '[{"name": "Error", "message": "boom"}]', '{}'
     FROM generate_series(1, 60000) n`,
  );
  await connected(databaseUrl, async (client) => {
    for (const statistics of [false, true]) {
      if (statistics) await db.query('ANALYZE millrace.dead_jobs');
      for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
        for (const [filter, most] of [
          [{ error: 'nobody said this' }, 400],
          [{ kind: 'test.kind', error: 'nobody said this' }, 600],
          [{ kind: 'rare.kind', error: 'nobody said this' }, 600],
        ] as const) {
          const { pages, rowsScanned } = await costOf(client, mode, (on) => redriveMany(on, { filter, limit: 1000 }));
          const what = `${JSON.stringify(filter)}, ${mode}, statistics: ${statistics}`;
          expect.soft(rowsScanned, `${what}: rows scanned`).toBe(0);
          expect.soft(pages, `${what}: pages`).toBeLessThan(most);
        }
      }
    }
  });
});

test('a transaction that keeps vacuum away makes only a look from the beginning dearer', async ({
  db,
  databaseUrl,
}) => {
  await stopAutovacuum(db);
  await connected(databaseUrl, async (pin) => {
    await pin.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await pin.query('SELECT count(*) FROM millrace.live_jobs');
    await load(db, { dueInSeconds: -3600, rows: 5000 });
    await load(db, { dueInSeconds: -3600, rows: 1000, priority: -5 });
    // Nothing runs yet: the planner takes the index of leases for empty.
    await db.query('ANALYZE');
    await connected(databaseUrl, async (client) => {
      let position = await openPosition(db, 'default', kinds);
      const finish = async (on: Db, { jobs }: Claimed) =>
        complete(
          on,
          jobs.map((job) => ({ ...job, result: 1 })),
        );
      for (let found = true; found; ) {
        const many = await ask(db, position, { limit: 200, aged: 20 });
        await finish(db, many);
        let few: Claimed = many;
        const claiming = await costOf(client, 'force_custom_plan', async (on) => {
          few = await ask(on, many.position);
        });
        const settling = await costOf(client, 'force_custom_plan', (on) => finish(on, few));
        expect(claiming.pages).toBeLessThan(500);
        expect(settling.pages).toBeLessThan(250);
        position = few.position;
        found = few.jobs.length > 0;
      }
      const fromTheBeginning = { ...position, marks: Array<null>(11).fill(null) };
      const looking = await costOf(client, 'force_custom_plan', (on) => ask(on, fromTheBeginning));
      expect(looking.pages).toBeGreaterThan(5000);
    });
  });
});
