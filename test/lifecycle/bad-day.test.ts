import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type pg from 'pg';
import { onTestFinished } from 'vitest';
import { runCli, startCli } from '../cli/run-cli.ts';
import { expect, inject, test as onEach } from '../support/fixtures.ts';
import { startApi } from './bad-day-ground.ts';
import { until } from './ground.ts';

const WORKER = fileURLToPath(new URL('./bad-day-worker.ts', import.meta.url));
const MILLRACE = fileURLToPath(new URL('../../bin/millrace.ts', import.meta.url));

// What an older Postgres could change of it has tests of its own.
const test = onEach.skipIf(inject('postgresMajor') === 15);

test('1,000 jobs dead for a bug: found, understood, fixed, redriven, none lost and none twice', async ({
  db,
  databaseUrl,
}) => {
  const api = startApi(databaseUrl);
  await db.query('CREATE TABLE public.invoices_sent (job uuid NOT NULL)');
  await enqueue(db, 100, `jsonb_build_object('customer', jsonb_build_object('email', 'ada@example.com'))`);
  await enqueue(db, 1000, `jsonb_build_object('buyer', jsonb_build_object('email', 'ada@example.com'))`);
  await enqueue(db, 50, `jsonb_build_object('customer', jsonb_build_object('email', 'bob@example.com'))`, false);

  // The night: a worker that does not know of `buyer`.
  const broken = startWorker(databaseUrl, 'broken');
  await until(async () => (await counts(db)).dead === 1050);
  await drained(broken);
  expect(await counts(db)).toEqual({ completed: 100, dead: 1050 });

  const { relay, env } = await api;
  const millrace = (...args: string[]) => runCli(args, { env });

  // Found: how much, and of what.
  expect((await millrace('list', '--status', 'dead', '--counts')).stdout).toMatch(/^dead\t1000\+$/m);
  const stats = JSON.parse((await millrace('stats', '--json')).stdout);
  expect(stats.kinds).toMatchObject([{ kind: 'invoice.send', totals: { completed: 100, buried: 1050 } }]);
  const { jobs } = JSON.parse((await millrace('list', '--status', 'dead', '--all', '--json')).stdout);
  const messages = new Set(jobs.map((job: { last_error: { message: string } }) => job.last_error.message));
  const reason = "Cannot read properties of undefined (reading 'email')";
  expect(messages).toEqual(new Set([reason, '550 mailbox of bob@example.com unavailable']));

  // Understood: each attempt, and where in the code.
  const one = jobs.find((job: { last_error: { message: string } }) => job.last_error.message === reason);
  const shown = await millrace('show', one.id, '--payload', '--stack');
  expect(shown.stdout.match(/TypeError: Cannot read properties/g)?.length).toBeGreaterThanOrEqual(2);
  expect(shown.stdout).toContain('bad-day-worker.ts');
  expect(shown.stdout).toContain('"buyer"');

  // Fixed, and put to work.
  const fixed = startWorker(databaseUrl, 'fixed');
  const filter = ['--kind', 'invoice.send', '--error', 'TypeError'];
  expect((await millrace('redrive', ...filter, '--dry-run')).stdout).toBe('matched\t1000\n');
  const bySql = await runCli(['redrive', ...filter, '--dry-run'], { env: { DATABASE_URL: databaseUrl } });
  expect(bySql.stdout).toBe('matched\t1000\n');

  // Redriven: interrupted in its third step, and taken up again by the command that it prints.
  const redrive = startCli(['redrive', ...filter, '--yes'], { env });
  relay.holdThird = async () => {
    redrive.child.kill('SIGINT');
    await redrive.sees(/Stopping after this step/);
  };
  expect(await redrive.ended).toBe(130);
  expect(redrive.stdout()).toBe('redriven\t600\nskipped\t0\n');
  const [, again = ''] = /^ {2}npx millrace (.*)$/m.exec(redrive.stderr()) ?? [];
  const goOn = `exec "${process.execPath}" "${MILLRACE}" ${again}`;
  const rest = await promisify(execFile)('sh', ['-c', goOn], { env: { PATH: process.env.PATH, ...env } });
  expect(rest.stdout).toBe('redriven\t400\nskipped\t0\n');

  // The end: each of them once, the others as they were, and the log names who did it.
  await until(async () => (await counts(db)).completed === 1100);
  await drained(fixed);
  expect(await counts(db)).toEqual({ completed: 1100, dead: 50 });
  const { rows: effects } = await db.query(
    `SELECT count(*)::int AS all, count(DISTINCT i.job)::int AS distinct,
            count(*) FILTER (WHERE j.status = 'completed')::int AS completed
     FROM public.invoices_sent i LEFT JOIN millrace.jobs j ON j.id = i.job`,
  );
  expect(effects).toEqual([{ all: 1100, distinct: 1100, completed: 1100 }]);
  const { rows: dead } = await db.query(`SELECT DISTINCT errors -> -1 ->> 'message' AS why FROM millrace.dead_jobs`);
  expect(dead).toEqual([{ why: '550 mailbox of bob@example.com unavailable' }]);
  const { rows: log } = await db.query(
    `SELECT actor, action, target ->> 'error' AS error, sum(count)::int AS count FROM millrace.operator_log GROUP BY 1, 2, 3`,
  );
  expect(log).toEqual([{ actor: 'a-operator', action: 'redrive', error: 'TypeError', count: 1000 }]);
}, 120_000);

async function enqueue(db: pg.Pool, count: number, order: string, mailbox = true): Promise<void> {
  await db.query(
    `SELECT millrace.enqueue('invoice.send', jsonb_build_object('number', n, 'order', ${order}, 'mailbox', $2::boolean),
       max_attempts => 2)
     FROM generate_series(1, $1::int) n`,
    [count, mailbox],
  );
}

async function counts(db: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await db.query('SELECT status, count(*)::int AS n FROM millrace.jobs GROUP BY status');
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

function startWorker(databaseUrl: string, release: 'broken' | 'fixed'): ChildProcess {
  const worker = fork(WORKER, [databaseUrl, release], { stdio: 'inherit' });
  onTestFinished(() => void worker.kill('SIGKILL'));
  return worker;
}

async function drained(worker: ChildProcess): Promise<void> {
  const end = once(worker, 'close');
  worker.kill('SIGTERM');
  expect(await end).toEqual([0, null]);
}
