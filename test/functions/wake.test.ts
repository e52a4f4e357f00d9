import { INSTANT_LINGER_SECONDS } from '../../lib/settings.ts';
import { deadJob, statusOf } from '../support/factories.ts';
import { beforeEach, vi } from '../support/fixtures.ts';
import { startLambdaApi } from '../support/lambda-api.ts';
import { test as base, describe, expect } from './api.ts';

const WAKE_FUNCTIONS = JSON.stringify({ '*': 'Queue-Work', reports: 'Queue-WorkReports', mail: 'Queue-Work' });
const TICK = { type: 'Event', event: { slot: 0 } };

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

// A sandbox of its own for each test, which has woken nobody yet.
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
    expect(lambda.invoked).toEqual([{ name: 'Queue-Work', ...TICK }]);
    expect(found).toEqual([[{ kind: 'hello.greet', queue: 'default' }]]);
    expect((await call('POST', '/jobs', greet({ queue: 'reports' }))).status).toBe(201);
    expect(lambda.invoked.at(1)).toEqual({ name: 'Queue-WorkReports', ...TICK });
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
    vi.resetModules();
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

  test('a queue that goes on wakes its worker, a kind all of them', async ({ call, lambda }) => {
    await call('POST', '/queues/reports/pause');
    await call('POST', '/queues/mail/resume');
    expect(lambda.invoked, 'nothing had been paused').toEqual([]);
    await call('POST', '/queues/reports/resume');
    expect(lambda.invoked.map(({ name }) => name)).toEqual(['Queue-WorkReports']);
    vi.resetModules();
    await call('POST', '/kinds/hello.greet/pause');
    await call('POST', '/kinds/hello.greet/resume');
    expect(lambda.invoked).toHaveLength(3);
  });
});

describe('a wake', () => {
  test('comes once in two seconds for each worker: it asks for longer than that', async ({ call, lambda }) => {
    const now = vi.spyOn(Date, 'now');
    const at = Date.now();
    const enqueuedAt = async (ms: number) => {
      now.mockReturnValue(at + ms);
      await call('POST', '/jobs', greet());
      return lambda.invoked.length;
    };
    try {
      expect(await enqueuedAt(0)).toBe(1);
      expect(await enqueuedAt(1999)).toBe(1);
      expect(await enqueuedAt(2000)).toBe(2);
      expect(await enqueuedAt(-3_600_000), 'the clock was set back').toBe(3);
    } finally {
      now.mockRestore();
    }
    // The worker starts after it was woken, and the last job that wakes nobody comes before these two seconds are over.
    expect(INSTANT_LINGER_SECONDS).toBeGreaterThan(2);
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
