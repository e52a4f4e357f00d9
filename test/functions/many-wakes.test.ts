import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { HttpEvent } from '../../functions/lambda/http.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import { runOn, until } from '../lifecycle/ground.ts';
import { deadJob } from '../support/factories.ts';
import { test as base, expect, vi } from '../support/fixtures.ts';
import { type LambdaApi, startLambdaApi } from '../support/lambda-api.ts';
import { httpEvent } from './api.ts';
import type { Requests } from './api-process.ts';

vi.setConfig({ testTimeout: 60_000 });

const kind = 'hello.greet';
const contracts = { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 5 }) };
const SANDBOXES = 3;

interface Stage {
  /** Each sandbox answers its share of the events, all at the same time. */
  send(to: Requests['to'], events: readonly HttpEvent[]): Promise<number[]>;
  /** Of the workers that were started since the last time, when they have completed so many jobs and were asked to leave. */
  runs(completed: number): Promise<RunSummary[]>;
}

/** Sandboxes of the API, each a process, and Lambda as far as it starts workers: these run here. */
const test = base.extend('stage', async ({ db, databaseUrl }, { onCleanup }): Promise<Stage> => {
  const lambda: LambdaApi = await startLambdaApi();
  let finish = new AbortController();
  const runs: Promise<RunSummary>[] = [];
  lambda.answer = (response, { name, event }) => {
    runs.push(
      runOn(databaseUrl, {
        contracts,
        processors: { [kind]: async () => null },
        slot: { worker: name, ...(event as { slot: number; woken: boolean }) },
        lingerSeconds: 3,
        finish: finish.signal,
      }),
    );
    response.writeHead(202).end();
  };
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'warn',
    WAKE_FUNCTIONS: '{"*": "Queue-Work"}',
    AWS_ENDPOINT_URL_LAMBDA: lambda.url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
  };
  const script = fileURLToPath(new URL('./api-process.ts', import.meta.url));
  const sandboxes = Array.from({ length: SANDBOXES }, () =>
    fork(script, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
  );
  onCleanup(async () => {
    finish.abort();
    await Promise.all(sandboxes.map(gone));
    await Promise.all(runs);
    await lambda.close();
  });
  await Promise.all(sandboxes.map((sandbox) => once(sandbox, 'message')));
  return {
    send: async (to, events) => {
      const share = Math.ceil(events.length / SANDBOXES);
      const answers = sandboxes.map(async (sandbox, at) => {
        sandbox.send({ to, events: events.slice(at * share, (at + 1) * share) } satisfies Requests);
        return (await once(sandbox, 'message'))[0] as number[];
      });
      return (await Promise.all(answers)).flat();
    },
    runs: async (completed) => {
      await until(async () => {
        const { rows } = await db.query('SELECT count(*)::int AS n FROM millrace.finished_jobs');
        return rows[0]?.n >= completed;
      });
      finish.abort();
      const summaries = await Promise.all(runs.splice(0));
      finish = new AbortController();
      return summaries;
    },
  };
});

async function gone(sandbox: ChildProcess): Promise<void> {
  const exited = once(sandbox, 'exit');
  sandbox.disconnect();
  await exited;
}

const job = { kind, payload: { name: 'Ada' } };

test('a thousand that are put in at once start one worker; batches, a redrive of each and a resume likewise', async ({
  db,
  stage,
}) => {
  const single = Array.from({ length: 1000 }, () => httpEvent('POST', '/jobs', { body: job }));
  expect(new Set(await stage.send('enqueue', single))).toEqual(new Set([201]));
  expect(await stage.runs(1000)).toMatchObject([{ completed: 1000, reason: 'drained' }]);

  const batch = { jobs: Array.from({ length: 20 }, () => job) };
  const batches = Array.from({ length: 30 }, () => httpEvent('POST', '/jobs/batch', { body: batch }));
  expect(new Set(await stage.send('enqueue', batches))).toEqual(new Set([201]));
  expect(await stage.runs(1600)).toMatchObject([{ completed: 600 }]);

  const dead = await Promise.all(Array.from({ length: 60 }, () => deadJob(db, job)));
  const redrives = dead.map(({ id }) => httpEvent('POST', `/jobs/${id}/redrive`));
  expect(new Set(await stage.send('manage', redrives))).toEqual(new Set([200]));
  expect(await stage.runs(1660)).toMatchObject([{ completed: 60 }]);

  await stage.send('manage', [httpEvent('POST', `/kinds/${kind}/pause`)]);
  await stage.send('enqueue', [httpEvent('POST', '/jobs', { body: job })]);
  expect(await stage.runs(1660)).toMatchObject([{ completed: 0 }]);
  await stage.send(
    'manage',
    Array.from({ length: 9 }, () => httpEvent('POST', `/kinds/${kind}/resume`)),
  );
  expect(await stage.runs(1661)).toMatchObject([{ completed: 1 }]);
});
