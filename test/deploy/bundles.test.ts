import { SCHEMA_VERSION } from '../../functions/lambda/schema-version.ts';
import { until } from '../lifecycle/ground.ts';
import { timePasses } from '../lifecycle/process.ts';
import { describe, expect, test as plain } from '../support/fixtures.ts';
import { Deployment, type Release, synthesizedRelease } from './stage.ts';

/**
 * The life of a job through what a deploy uploads: each step is a cold start of the bundle that does it in the cloud.
 * `github.webhook` counts into a table of the application, so it fails for as long as that is not there.
 */
const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('release', { scope: 'file' }, async ({}, { onCleanup }): Promise<Release> => {
    const release = await synthesizedRelease();
    onCleanup(() => release.remove());
    return release;
  })
  .extend('deployment', async ({ release, own }) => new Deployment(release, own.url));

test.beforeAll(({ release }) => void release, 120_000);

const CREATE_TALLY = `
  CREATE TABLE public.webhook_tally (
    run text, event text, repository text, deliveries int NOT NULL,
    PRIMARY KEY (run, event, repository)
  )`;

test('enqueue, claim, complete', async ({ deployment }) => {
  const { status, headers, body } = await deployment.request('Enqueue', 'POST /jobs', {
    kind: 'hello.greet',
    payload: { name: 'Ada' },
  });
  expect([status, body.status, headers.location]).toEqual([201, 'pending', `/jobs/${body.id}`]);
  expect(await deployment.work()).toMatchObject({ completed: 1, retried: 0, buried: 0 });
  expect((await deployment.request('JobsRead', `GET /jobs/${body.id}?include=result`)).body).toMatchObject({
    status: 'completed',
    attempts: 1,
    result: { greeting: 'Hello, Ada!' },
  });
});

test('fail, retry, dead, redrive, complete', async ({ deployment, own }) => {
  const { body: job } = await deployment.request('Enqueue', 'POST /jobs', webhook({ max_attempts: 2 }));
  expect(await deployment.work()).toMatchObject({ completed: 0, retried: 1 });
  expect((await deployment.request('JobsRead', `GET /jobs/${job.id}`)).body).toMatchObject({
    status: 'pending',
    attempts: 1,
    errors: [{ attempt: 1, message: 'relation "public.webhook_tally" does not exist' }],
  });

  await timePasses(own.pool, async () => {});
  expect(await deployment.work()).toMatchObject({ retried: 0, buried: 1 });
  const { body: dead } = await deployment.request('JobsRead', 'GET /jobs?status=dead');
  expect(dead.jobs).toMatchObject([{ id: job.id, status: 'dead', attempts: 2 }]);
  expect((await deployment.request('Metrics', 'GET /metrics')).text).toMatch(
    /\{kind="github.webhook",status="dead"\} 1/,
  );

  await own.pool.query(CREATE_TALLY);
  const { status } = await deployment.request('Manage', `POST /jobs/${job.id}/redrive`);
  expect(status).toBe(200);
  expect(await deployment.work()).toMatchObject({ completed: 1 });
  const { body: done } = await deployment.request('JobsRead', `GET /jobs/${job.id}`);
  expect(done).toMatchObject({ status: 'completed', attempts: 1 });
  expect(done.errors).toHaveLength(2);
  expect((await own.pool.query('SELECT deliveries FROM public.webhook_tally')).rows).toEqual([{ deliveries: 1 }]);
});

test('a worker that dies, reap, complete: counted once', async ({ deployment, own }) => {
  await own.pool.query(CREATE_TALLY);
  const { body: job } = await deployment.request('Enqueue', 'POST /jobs', webhook({}, 2000));
  const dying = await deployment.start('Work', { slot: 0 });
  const status = async () => (await own.pool.query('SELECT status FROM millrace.jobs')).rows[0].status;
  await until(async () => (await status()) === 'processing');
  dying.process.kill();
  expect(await dying.ended).toMatchObject({ kind: 'died' });

  expect(await deployment.call('Reap')).toMatchObject({ reaped: 0 });
  await timePasses(own.pool, async () => expect(await deployment.call('Reap')).toMatchObject({ reaped: 1 }));
  // Until then nobody knows that the slot is free.
  await own.pool.query('UPDATE millrace.slots SET present_until = clock_timestamp()');
  expect(await deployment.work()).toMatchObject({ completed: 1 });
  expect((await deployment.request('JobsRead', `GET /jobs/${job.id}`)).body).toMatchObject({
    status: 'completed',
    attempts: 2,
  });
  expect((await own.pool.query('SELECT deliveries FROM public.webhook_tally')).rows).toEqual([{ deliveries: 1 }]);
});

describe('what watches', () => {
  test('liveness, readiness, description, what no route fits', async ({ deployment }) => {
    expect(await deployment.request('Health', 'GET /health')).toMatchObject({ status: 200 });
    expect(await deployment.request('Ready', 'GET /ready')).toMatchObject({
      status: 200,
      body: { status: 'ready', schema_version: SCHEMA_VERSION },
    });
    expect((await deployment.request('OpenApi', 'GET /openapi.json')).body).toMatchObject({
      openapi: expect.stringMatching(/^3\.1/),
    });
    expect(await deployment.request('Fallback', 'GET /nowhere')).toMatchObject({ status: 404 });
  });
});

function webhook(fields: object, dawdleMs = 0) {
  const payload = { event: 'push', delivery: { repository: { full_name: 'ada/engine' } }, dawdle_ms: dawdleMs };
  return { kind: 'github.webhook', payload, ...fields };
}
