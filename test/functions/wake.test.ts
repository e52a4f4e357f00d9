import type { Db } from '../../functions/queue/db.ts';
import { deadJob, statusOf } from '../support/factories.ts';
import { beforeEach, vi } from '../support/fixtures.ts';
import { startLambdaApi } from '../support/lambda-api.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { test as base, describe, expect } from './api.ts';

const WAKE_FUNCTIONS = JSON.stringify({ '*': 'Queue-Work', reports: 'Queue-WorkReports', mail: 'Queue-Work' });
const WAKE = { type: 'Event', event: { slot: 0, woken: true } };

/** `lambda`: where workers are woken; `warnings`: what the functions have logged so far. */
const test = base
  .extend('lambda', async ({ call }, { onCleanup }) => {
    expect(call).toBeTypeOf('function');
    const api = await startLambdaApi();
    vi.stubEnv('LOG_LEVEL', 'warn');
    vi.stubEnv('WAKE_FUNCTIONS', WAKE_FUNCTIONS);
    vi.stubEnv('AWS_ENDPOINT_URL_LAMBDA', api.url);
    vi.stubEnv('AWS_REGION', 'us-east-1');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
    onCleanup(async () => {
      vi.unstubAllEnvs();
      await api.close();
    });
    return api;
  })
  .extend('warnings', async ({ lambda }, { onCleanup }) => {
    expect(lambda.invoked).toEqual([]);
    const spy = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    onCleanup(() => spy.mockRestore());
    return () => spy.mock.calls.map(([line]) => JSON.parse(String(line)));
  });

/** As two seconds later. */
const wakesAreOver = (db: Db) => db.query('DELETE FROM millrace.wakes');

// A sandbox of its own for each test.
beforeEach(() => {
  vi.resetModules();
});

const greet = (over: object = {}) => ({ body: { kind: 'hello.greet', payload: { name: 'Ada' }, ...over } });

describe('a job that is put in', () => {
  test('wakes the worker of its queue, once it is there', async ({ call, db, lambda }) => {
    const found: unknown[] = [];
    lambda.answer = async (response) => {
      found.push((await db.query('SELECT kind, queue FROM millrace.live_jobs')).rows);
      response.writeHead(202).end();
    };
    expect((await call('POST', '/jobs', greet())).status).toBe(201);
    expect(lambda.invoked).toEqual([{ name: 'Queue-Work', ...WAKE }]);
    expect(found).toEqual([[{ kind: 'hello.greet', queue: 'default' }]]);
    expect((await call('POST', '/jobs', greet({ queue: 'reports' }))).status).toBe(201);
    expect(lambda.invoked.at(1)).toEqual({ name: 'Queue-WorkReports', ...WAKE });
  });

  test.for([
    ['later', { delay_seconds: 3 }],
    ['at a time to come', { run_at: new Date(Date.now() + 60_000).toISOString() }],
  ] as const)('due %s: wakes nobody', async ([, over], { call, lambda }) => {
    expect((await call('POST', '/jobs', greet(over))).status).toBe(201);
    expect(lambda.invoked).toEqual([]);
  });

  test('due at a time that is past: wakes', async ({ call, lambda }) => {
    await call('POST', '/jobs', greet({ run_at: '2020-01-01T00:00:00Z' }));
    expect(lambda.invoked).toHaveLength(1);
  });

  test('that stands for another, or for which another stands: wakes nobody', async ({ call, lambda }) => {
    await call('POST', '/jobs', greet({ idempotency_key: 'i', unique_key: 'u', delay_seconds: 600 }));
    const replayed = await call('POST', '/jobs', greet({ idempotency_key: 'i', unique_key: 'u', delay_seconds: 600 }));
    const kept = await call('POST', '/jobs', greet({ unique_key: 'u' }));
    const renewed = await call('POST', '/jobs', greet({ unique_key: 'u', replace: ['payload'] }));
    expect([replayed, kept, renewed].map(({ body }) => body.outcome)).toEqual(['replayed', 'kept', 'replaced']);
    expect(lambda.invoked).toEqual([]);
    const hastened = await call('POST', '/jobs', greet({ unique_key: 'u', replace: ['run_at'] }));
    expect(hastened.body.outcome).toBe('replaced');
    expect(lambda.invoked, 'it is due from now on').toHaveLength(1);
  });

  test('among many: each worker is woken once', async ({ call, lambda }) => {
    const jobs = ['default', 'mail', 'other', 'default', 'reports'].map((queue) => greet({ queue }).body);
    expect((await call('POST', '/jobs/batch', { body: { jobs } })).status).toBe(201);
    expect(lambda.invoked.map(({ name }) => name).sort()).toEqual(['Queue-Work', 'Queue-WorkReports']);
  });

  test('that is refused wakes nobody', async ({ call, lambda }) => {
    expect((await call('POST', '/jobs', greet({ priority: 9 }))).status).toBe(422);
    expect(lambda.invoked).toEqual([]);
  });
});

describe('what operators make due', () => {
  test('a redriven job wakes the worker of its queue, a filter all of them', async ({ call, db, lambda }) => {
    const { id } = await deadJob(db, { queue: 'reports' });
    await call('POST', `/jobs/${id}/redrive`);
    expect(lambda.invoked.map(({ name }) => name)).toEqual(['Queue-WorkReports']);
    expect(await statusOf(db, id)).toBe('pending');
    await wakesAreOver(db);
    await deadJob(db);
    await call('POST', '/jobs/redrive', { body: { kind: 'test.kind', dry_run: true } });
    await call('POST', '/jobs/redrive', { body: { kind: 'no.such' } });
    expect(lambda.invoked).toHaveLength(1);
    await call('POST', '/jobs/redrive', { body: { kind: 'test.kind' } });
    expect(lambda.invoked.map(({ name }) => name).sort()).toEqual([
      'Queue-Work',
      'Queue-WorkReports',
      'Queue-WorkReports',
    ]);
  });

  test('a queue that goes on wakes its worker, a kind all of them', async ({ call, db, lambda }) => {
    await call('POST', '/queues/reports/pause');
    await call('POST', '/queues/mail/resume');
    expect(lambda.invoked, 'nothing had been paused').toEqual([]);
    await call('POST', '/queues/reports/resume');
    expect(lambda.invoked.map(({ name }) => name)).toEqual(['Queue-WorkReports']);
    await wakesAreOver(db);
    await call('POST', '/kinds/hello.greet/pause');
    await call('POST', '/kinds/hello.greet/resume');
    expect(lambda.invoked).toHaveLength(3);
  });

  test('a schedule that is fired wakes the worker of its queue; one that goes on has nothing due', async ({
    call,
    db,
    lambda,
  }) => {
    const name = await declaredSchedule(db, { queue: 'reports' });
    await call('POST', `/schedules/${name}/pause`);
    await call('POST', `/schedules/${name}/resume`);
    expect(lambda.invoked).toEqual([]);
    expect((await call('POST', `/schedules/${name}/fire`)).status).toBe(201);
    expect(lambda.invoked).toEqual([{ name: 'Queue-WorkReports', ...WAKE }]);
  });
});

describe('a wake', () => {
  test('comes where nobody claims, and once in two seconds: whatever other sandboxes have sent', async ({
    call,
    db,
    lambda,
  }) => {
    const invokedBy = async (request: object) => {
      const before = lambda.invoked.length;
      await call('POST', '/jobs', request);
      return lambda.invoked.slice(before).map(({ name }) => name);
    };
    expect(await invokedBy(greet())).toEqual(['Queue-Work']);
    vi.resetModules();
    expect(await invokedBy(greet()), 'another sandbox').toEqual([]);
    expect(await invokedBy(greet({ queue: 'reports' })), 'another worker').toEqual(['Queue-WorkReports']);
    await wakesAreOver(db);
    expect(await invokedBy(greet())).toEqual(['Queue-Work']);
    await wakesAreOver(db);
    await db.query(
      `INSERT INTO millrace.slots (worker, slot, token, started_at, present_until)
       VALUES ('Queue-Work', 2, gen_random_uuid(), clock_timestamp(), clock_timestamp() + interval '10 seconds')`,
    );
    expect(await invokedBy(greet()), 'somebody claims').toEqual([]);
    await db.query('UPDATE millrace.slots SET present_until = clock_timestamp()');
    expect(await invokedBy(greet()), 'who has left').toEqual(['Queue-Work']);
  });

  test('that Lambda does not answer costs a second, and no job', async ({ call, db, lambda, warnings }) => {
    // So that the SDK is loaded by then.
    await call('POST', '/jobs', greet({ queue: 'reports' }));
    lambda.answer = () => {};
    const began = performance.now();
    const { status, body } = await call('POST', '/jobs', greet());
    expect(performance.now() - began).toBeLessThan(2500);
    expect(status).toBe(201);
    expect(await statusOf(db, body.id)).toBe('pending');
    expect(warnings()).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: 'workers could not be woken; the next tick finds the jobs',
        functions: ['Queue-Work'],
        request_id: expect.any(String),
      }),
    );
    // Nor do those that come right after it wait.
    const again = performance.now();
    await call('POST', '/jobs', greet());
    expect(performance.now() - again).toBeLessThan(900);
  });

  test('that Lambda refuses is in the log, and fails no request', async ({ call, lambda, warnings }) => {
    lambda.answer = (response) =>
      response
        .writeHead(403, { 'content-type': 'application/json', 'x-amzn-errortype': 'AccessDeniedException' })
        .end('{"Message":"not authorized"}');
    expect((await call('POST', '/jobs', greet())).status).toBe(201);
    expect(warnings()).toContainEqual(
      expect.objectContaining({ level: 'warn', error: expect.objectContaining({ name: 'AccessDeniedException' }) }),
    );
  });

  test('is tried again once where the first try failed', async ({ call, lambda, warnings }) => {
    lambda.answer = (response) => response.writeHead(lambda.invoked.length === 1 ? 500 : 202).end();
    expect((await call('POST', '/jobs', greet())).status).toBe(201);
    expect(lambda.invoked).toHaveLength(2);
    expect(warnings()).toEqual([]);
  });

  test('of nobody: a wrong setting fails no request, and without one nothing is asked', async ({
    call,
    lambda,
    warnings,
  }) => {
    vi.stubEnv('WAKE_FUNCTIONS', 'Queue-Work');
    expect((await call('POST', '/jobs', greet())).status).toBe(201);
    expect(warnings()).toContainEqual(
      expect.objectContaining({
        error: expect.objectContaining({ message: expect.stringContaining('WAKE_FUNCTIONS') }),
      }),
    );
    vi.resetModules();
    vi.stubEnv('WAKE_FUNCTIONS', '');
    expect((await call('POST', '/jobs', greet())).status).toBe(201);
    expect(warnings()).toHaveLength(1);
    expect(lambda.invoked).toEqual([]);
  });
});
