import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { freePort } from '../../local/postgres/server.ts';
import { ECHO_MS } from '../../local/stop-signals.ts';
import { until } from '../lifecycle/ground.ts';
import { expireLease, liveRowOf, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test as plain } from '../support/fixtures.ts';
import { startGate } from './gate.ts';
import { type Running, runCli, startCli } from './run-cli.ts';

const JOBS = fileURLToPath(new URL('./work-jobs/', import.meta.url));
const MODULES = ['--contracts', `${JOBS}contracts.ts`, '--processors', `${JOBS}processors.ts`];
const PLAIN = ['--contracts', `${JOBS}plain.mjs`, '--processors', `${JOBS}plain.mjs`];

/** `npx millrace work` on the test's database, with these modules unless others are named. */
const test = plain.extend('work', async ({ databaseUrl }) => (args: string[], env: Record<string, string> = {}) => {
  const modules = args.includes('--contracts') ? [] : MODULES;
  return startCli(['work', ...modules, ...args], { env: { DATABASE_URL: databaseUrl, ...env } });
});

/** The JSON lines of its log so far. */
function logged({ stdout }: Running): Record<string, unknown>[] {
  return stdout()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line));
}

const said = (worker: Running, message: string, fields: object = {}) =>
  until(() =>
    logged(worker).find((line) => line.message === message && Object.entries(fields).every(([k, v]) => line[k] === v)),
  );

async function put(db: pg.Pool, kind: string, payload: object = {}, maxAttempts = 5): Promise<string> {
  const { rows } = await db.query('SELECT millrace.enqueue($1, $2, max_attempts => $3) AS id', [
    kind,
    payload,
    maxAttempts,
  ]);
  return rows[0].id;
}

const ended = (db: pg.Pool, id: string, status: string) => until(async () => (await statusOf(db, id)) === status);

describe('told to stop, it ends with 0 and has spent no attempt:', () => {
  test('what is done in time is completed, the rest is given back, and nothing more is taken', async ({ db, work }) => {
    const [short, long] = [await put(db, 'sleep', { ms: 600 }), await put(db, 'hold')];
    const worker = work(['--no-reap', '--drain-seconds', '6'], { LOG_LEVEL: 'debug' });
    for (const job_id of [short, long]) await said(worker, 'begun', { job_id });
    worker.child.kill('SIGTERM');
    await said(worker, 'SIGTERM: no more jobs are taken, what runs has 1 s and is then given back');
    // Now the last claim has been answered.
    await said(worker, 'run.last_claimed');
    const late = await put(db, 'sleep');
    expect(await worker.ended).toBe(0);
    expect(await statusOf(db, short)).toBe('completed');
    expect(await liveRowOf(db, long)).toMatchObject({ status: 'pending', attempts: 0, errors: null });
    expect(await liveRowOf(db, late)).toMatchObject({ status: 'pending', attempts: 0, started_at: null });
    expect(logged(worker).find(({ message }) => message === 'run ended')).toMatchObject({ reason: 'drained' });
  });

  test('a second signal does not wait, and a job that does not stop keeps nobody', async ({ db, work }) => {
    const running = [await put(db, 'hold'), await put(db, 'sleep', { ms: 19_000 })];
    const worker = work(['--no-reap', '--drain-seconds', '3600']);
    for (const job_id of running) await said(worker, 'begun', { job_id });
    worker.child.kill('SIGINT');
    await said(worker, 'SIGINT: no more jobs are taken, what runs has 3595 s and is then given back');
    // Sooner it would be the echo of the first.
    await later(ECHO_MS + 1);
    worker.child.kill('SIGTERM');
    // Who stops it may say so again until it is gone.
    await said(worker, 'worker ended');
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
    for (const id of running) expect(await liveRowOf(db, id)).toMatchObject({ status: 'pending', attempts: 0 });
  });
});

test('runs follow one another without a gap; a job that outlasts its run is finished in its first attempt, and takes its place', async ({
  db,
  work,
}) => {
  const spanning = await put(db, 'sleep', { ms: 2500 });
  const worker = work(['--run-seconds', '1', '--no-reap', '--concurrency', '2']);
  await said(worker, 'begun', { job_id: spanning });
  // More than there are places for, at any time and in any run.
  const jobs = [];
  for (let n = 0; n < 30; n++) jobs.push(await put(db, 'sleep', { ms: 100 }));
  for (const id of [...jobs, spanning]) await ended(db, id, 'completed');
  expect(await rowOf(db, spanning)).toMatchObject({ attempts: 1 });
  const lines = (message: string) => logged(worker).filter((line) => line.message === message);
  await until(() => lines('run ended').length >= 2);
  expect(new Set(lines('run ended').map(({ reason }) => reason))).toEqual(new Set(['relieved']));
  expect(Math.max(...lines('begun').map(({ running }) => Number(running)))).toBe(2);
});

test('what a killed worker has left is taken back by another one, and what died of it is told of', async ({
  db,
  work,
}) => {
  const [again, last] = [await put(db, 'hold'), await put(db, 'sleep', { ms: 60_000 }, 1)];
  const killed = work(['--no-reap']);
  for (const job_id of [again, last]) await said(killed, 'begun', { job_id });
  killed.child.kill('SIGKILL');
  await killed.ended;
  for (const id of [again, last]) await expireLease(db, id);
  const other = work(['--tick-seconds', '1']);
  await ended(db, last, 'dead');
  await said(other, 'job.reaped', { job_id: last, status: 'dead' });
  const { id } = await until(
    async () => (await db.query(`SELECT * FROM millrace.jobs WHERE kind = 'mourn' AND status = 'completed'`)).rows[0],
  );
  expect(await rowOf(db, id)).toMatchObject({ result: 'sleep: LeaseExpired', payload: { id: last } });
  // Its delay is over.
  await db.query('UPDATE millrace.live_jobs SET run_at = clock_timestamp() WHERE id = $1', [again]);
  await said(other, 'begun', { job_id: again });
  expect(await liveRowOf(db, again)).toMatchObject({ attempts: 2, reaps: 1 });
  const dead = await put(db, 'fail');
  await ended(db, dead, 'dead');
  expect(await rowOf(db, dead)).toMatchObject({ attempts: 1, errors: [{ name: 'PermanentError' }] });
});

test('its health follows the database: down at the start, there, and away again', async ({ db, databaseUrl, work }) => {
  const gate = await startGate(databaseUrl);
  await gate.shut();
  const file = join(mkdtempSync(join(tmpdir(), 'millrace-')), 'well');
  const health = ['--health-port', String(await freePort()), '--health-file', file];
  const worker = work([...health, '--fresh-seconds', '2', '--no-reap'], { DATABASE_URL: gate.url });
  const base = `http://127.0.0.1:${health[1]}`;
  const is = (status: string) =>
    until(async () => {
      const answer = await fetch(`${base}/health`).catch(() => undefined);
      const body = (await answer?.json()) as { status: string } | undefined;
      return body?.status === status ? answer : undefined;
    });
  expect((await is('starting')).status).toBe(503);
  expect(statSync(file).mtimeMs).toBe(0);
  await gate.open();
  expect((await is('ok')).status).toBe(200);
  await until(() => statSync(file).mtimeMs > 0);
  const id = await put(db, 'sleep');
  await ended(db, id, 'completed');
  const metrics = await fetch(`${base}/metrics`);
  expect(metrics.headers.get('content-type')).toMatch('version=0.0.4');
  expect(await metrics.text()).toContain('millrace_jobs_completed_total{kind="sleep"} 1');
  expect((await fetch(`${base}/elsewhere`)).status).toBe(404);
  await gate.shut();
  expect((await is('failing')).status).toBe(503);
  expect((await fetch(`${base}/metrics`)).status).toBe(503);
  await gate.open();
  await is('ok');
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});

test('where the schema is missing it says what makes it, and begins once it is there', async ({ db, work }) => {
  await db.query('ALTER SCHEMA millrace RENAME TO not_yet');
  const worker = work([...PLAIN, '--no-reap']);
  const remedy = 'the schema is not there, or old: npx millrace migrate';
  await said(worker, 'a run failed; another one follows', { remedy });
  await db.query('ALTER SCHEMA not_yet RENAME TO millrace');
  const id = await put(db, 'sleep');
  await ended(db, id, 'completed');
});

test('modules of JavaScript are imported as they are', async ({ db, work }) => {
  const id = await put(db, 'sleep');
  work([...PLAIN, '--no-reap']);
  await ended(db, id, 'completed');
  expect(await rowOf(db, id)).toMatchObject({ result: 'not bundled' });
});

test.for([
  [['--queues', 'no queue!'], 'queues: "no queue!" does not match'],
  [['--health-file', '/nowhere/well', '--health-port', 'free'], 'cannot write the file /nowhere/well (--health-file)'],
] as const)('a setting that it cannot work with ends it with 2: %s', async ([args, message], { work }) => {
  const port = String(await freePort());
  const worker = work([...PLAIN, ...args.map((arg) => (arg === 'free' ? port : arg))]);
  expect(await worker.ended).toBe(2);
  expect(worker.stderr()).toContain(message);
});

test('told to stop while its modules are loaded, it ends with 0 all the same', async ({ work }) => {
  const stuck = `${JOBS}stuck.mjs`;
  expect(await work(['--contracts', stuck, '--processors', stuck]).ended).toBe(0);
});

test('without a database to go to it ends with 2', async () => {
  expect(await runCli(['work', ...PLAIN])).toMatchObject({ code: 2, stderr: expect.stringContaining('DATABASE_URL') });
});
