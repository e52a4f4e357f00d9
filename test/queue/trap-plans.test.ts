import pg from 'pg';
import type { Claimed } from '../../functions/queue/claim.ts';
import type { Db } from '../../functions/queue/db.ts';
import { insertJob, insertJobs } from '../../functions/queue/enqueue.ts';
import type { Claim } from '../../functions/queue/job.ts';
import { release } from '../../functions/queue/release.ts';
import { retry } from '../../functions/queue/retry.ts';
import { KIND, pending } from '../bench/traps/lay.ts';
import { lay, nothing, prepare } from '../bench/traps/stage.ts';
import { type Trap, traps } from '../bench/traps/traps.ts';
import { TrapWorker } from '../bench/traps/worker.ts';
import { createDatabase } from '../support/database.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { provideServer } from '../support/server.ts';
import { costOf } from './pages.ts';

/** So many that a claim which looks at each of them would cost ten times as much. */
const ROWS = 5000;
const AT_MOST = 1.3;
/**
 * Of a job that goes back: it is found, written, and written into the key again. Each meets the version of it that waited, which a
 * pinned horizon keeps: three pages on fourteen.
 */
const AT_MOST_BACK = 1.5;

const error = { attempt: 1, name: 'Error', message: 'it failed' };
/** So long that none of those given back comes in the way of a claim. */
const delaySeconds = 7200;

/** Pages that each verb looked at. */
type Pages = ReadonlyMap<string, number>;

/** On a server of this file alone, with a database of its own for each trap: see plans.test.ts. */
const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('server', { scope: 'file' }, async ({}, { onCleanup }) => {
    const server = await provideServer(inject('postgresMajor'));
    const template = await createDatabase(server.url);
    onCleanup(async () => {
      await template.drop();
      await server.stop();
    });
    await prepare(template.url);
    return { url: server.url, template: new URL(template.url).pathname.slice(1) };
  })
  .extend('inAnEmptyQueue', { scope: 'file' }, async ({ server }) =>
    around(server, nothing, nothing.rows, (client) => pagesOf(client, nothing)),
  );

interface Prepared {
  readonly url: string;
  readonly template: string;
}

async function around<T>(
  { url, template }: Prepared,
  trap: Trap,
  rows: number,
  look: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const database = await createDatabase(url, template);
  const client = new pg.Client({ connectionString: database.url });
  const letGo = await lay(database.url, trap, rows);
  try {
    await client.connect();
    return await look(client);
  } finally {
    await client.end();
    await letGo();
    await database.drop();
  }
}

async function pagesOf(client: pg.Client, { planMode = 'force_custom_plan' }: Trap): Promise<Pages> {
  const worker = new TrapWorker();
  const found = new Map<string, number>();
  const measure = async (what: string, verb: (db: Db) => Promise<unknown>) => {
    found.set(what, (await costOf(client, planMode, verb)).pages);
  };
  await client.query(`SET plan_cache_mode = ${planMode}`);
  // What was done in the last tenth of a second is looked at again (SOON_COMMIT_SECONDS), and is no part of the trap.
  await client.query('SELECT pg_sleep(0.2)');
  await pending(client, { rows: 700 });
  // What a connection does once: the look from the beginning, and what planning reads of each index.
  await worker.complete(client, await worker.claim(client, 10));
  await retryAll(client, await worker.claim(client, 10));
  await releaseAll(client, await worker.claim(client, 10));
  await put(client, 1);
  await put(client, 100);
  for (const limit of [1, 10, 100]) {
    let claimed: Claimed | undefined;
    await measure(`claim of ${limit}`, async (db) => {
      claimed = await worker.claim(db, limit);
    });
    expect(claimed?.jobs).toHaveLength(limit);
    await measure(`complete of ${limit}`, (db) => worker.complete(db, claimed as Claimed));
    const failed = await worker.claim(client, limit);
    await measure(`retry of ${limit}`, (db) => retryAll(db, failed));
    const stopped = await worker.claim(client, limit);
    await measure(`release of ${limit}`, (db) => releaseAll(db, stopped));
  }
  await measure('ten claims of 10, one of them of the oldest', async (db) => {
    for (let n = 0; n < 10; n++) expect((await worker.claim(db, 10)).jobs).toHaveLength(10);
  });
  await measure('enqueue of 1', (db) => put(db, 1));
  await measure('enqueue of 100', (db) => put(db, 100));
  return found;
}

async function retryAll(db: Db, { jobs }: Pick<Claimed, 'jobs'>): Promise<void> {
  expect(jobs.length).toBeGreaterThan(0);
  expect(
    await retry(
      db,
      jobs.map((job) => ({ ...job, error, delaySeconds })),
    ),
  ).toHaveLength(jobs.length);
}

async function releaseAll(db: Db, { jobs }: Pick<Claimed, 'jobs'>): Promise<void> {
  expect(jobs.length).toBeGreaterThan(0);
  expect(
    await release(
      db,
      jobs.map((job) => ({ ...job, delaySeconds })),
    ),
  ).toHaveLength(jobs.length);
}

async function put(db: Db, jobs: number): Promise<void> {
  const job = { kind: KIND, payload: {} };
  if (jobs === 1) await insertJob(db, job);
  else await insertJobs(db, Array(jobs).fill(job));
}

test('a look from the beginning passes what is of other kinds once', async ({ server }) => {
  const foreign = traps.find(({ name }) => name === 'foreign-kinds') as Trap;
  const entries = await around(server, foreign, ROWS, async (client) => {
    await pending(client, { rows: 10 });
    const worker = new TrapWorker();
    return (await costOf(client, 'force_custom_plan', (db) => worker.claim(db, 10))).entries;
  });
  expect(entries).toBeGreaterThan(ROWS);
  expect(entries).toBeLessThan(1.1 * ROWS);
});

test('a twin is looked for by its key, though nothing was pending when the plan was made', async ({ server }) => {
  const running = traps.find(({ name }) => name === 'processing') as Trap;
  const entries = await around(server, running, ROWS, async (client) => {
    const { rows: claims } = await client.query<Claim>(
      `UPDATE millrace.live_jobs SET unique_key = id::text
       WHERE id IN (SELECT id FROM millrace.live_jobs LIMIT 20)
       RETURNING id, locked_by AS token`,
    );
    const back = claims.map((claim) => ({ ...claim, error, delaySeconds }));
    await retry(client, back.slice(0, 10));
    await pending(client, { rows: ROWS });
    return (await costOf(client, 'force_custom_plan', (db) => retry(db, back.slice(10)))).entries;
  });
  expect(entries).toBeLessThan(500);
});

describe('a claim, its ends and an enqueue look at no more than in an empty queue, but for a third or a half, around', () => {
  test.for(traps)('$name', async (trap, { server, inAnEmptyQueue }) => {
    const found = await around(server, trap, ROWS, (client) => pagesOf(client, trap));
    for (const [what, pages] of found) {
      const most = (/^re(try|lease)/.test(what) ? AT_MOST_BACK : AT_MOST) * (inAnEmptyQueue.get(what) as number);
      expect.soft(pages, `${what}: pages, of ${most.toFixed(0)} at most`).toBeLessThanOrEqual(most);
    }
  });
});
