import { handler } from '../../functions/work/handler.ts';
import { until } from '../lifecycle/ground.ts';
import { pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { test as base, beforeEach, describe, expect, vi } from '../support/fixtures.ts';
import { context } from './api.ts';
import { publishedMetrics, written } from './emf.ts';

const test = base.extend('work', async ({ databaseUrl }) => {
  Object.assign(process.env, { DATABASE_URL: databaseUrl, WORKER_PICKUP: 'minute', LOG_LEVEL: 'debug' });
  return (slot: unknown = 0, remainingMs = 60_000) =>
    handler({ slot }, { ...context(remainingMs), logStreamName: '2026/11/29/[$LATEST]0f3a' });
});

beforeEach(() => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});

describe('work', () => {
  test('a failed attempt says in which invocation it was, and in which log stream', async ({ work, db }) => {
    const { id } = await pendingJob(db, { kind: 'hello.greet', payload: {} });
    await work();
    const invocation = written().find(({ message }) => message === 'job.retried')?.aws_request_id;
    expect((await rowOf(db, id))?.errors).toMatchObject([{ where: `test ${invocation} 2026/11/29/[$LATEST]0f3a` }]);
  });

  test('works off what is due and says what it did', async ({ work, db }) => {
    const { id } = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    const dead = await pendingJob(db, { kind: 'hello.greet', payload: {}, maxAttempts: 1 });
    expect(await work()).toMatchObject({
      claimed: 2,
      completed: 1,
      buried: 1,
      unsettled: 0,
      durationMs: expect.any(Number),
    });
    expect(await rowOf(db, id)).toMatchObject({ status: 'completed', result: { greeting: 'Hello, Ada!' } });
    expect(await statusOf(db, dead.id)).toBe('dead');
  });

  test('logs events and the summary as JSON', async ({ work, db }) => {
    const { id } = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Unsaid' }, attempts: 0 });
    await work();
    const lines = written();
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'debug',
        message: 'job.completed',
        function: 'work',
        slot: 0,
        aws_request_id: expect.any(String),
        job_id: id,
        kind: 'hello.greet',
      }),
    );
    // That word is of the request that put a job in, and nobody's request did.
    for (const line of lines) expect(line).not.toHaveProperty('request_id');
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'info', message: 'run ended', completed: 1, duration_ms: expect.any(Number) }),
    );
  });

  test('hands CloudWatch its start before anything else, and what became of jobs at its end', async ({ work, db }) => {
    vi.stubEnv('JOB_QUEUE', 'Shop-Jobs');
    await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    await pendingJob(db, { kind: 'hello.greet', payload: {} });
    await pendingJob(db, { kind: 'hello.greet', payload: {}, maxAttempts: 1 });
    await work();
    expect(written()[0]).toMatchObject({ TicksStarted: 1, FunctionName: 'test' });
    const metric = (name: string) => ({ name, value: 1, unit: 'Count', queue: 'Shop-Jobs' });
    expect(publishedMetrics()).toEqual(
      ['TicksStarted', 'JobsCompleted', 'JobsRetried', 'JobsBuried'].map((name) => metric(name)),
    );
    vi.stubEnv('JOB_QUEUE', '');
    await work();
    expect(publishedMetrics().at(-1)).toEqual({ name: 'JobsBuried', value: 0, unit: 'Count', queue: 'test' });
    vi.unstubAllEnvs();
  });

  test('says that it has started though it cannot work', async ({ work }) => {
    vi.stubEnv('WORKER_CONCURRENCY', 'ten');
    await expect(work()).rejects.toThrow('WORKER_CONCURRENCY');
    expect(publishedMetrics()).toMatchObject([{ name: 'TicksStarted', value: 1 }]);
    vi.unstubAllEnvs();
  });

  test('serves the queues that it is told to', async ({ work, db }) => {
    const reports = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' }, queue: 'reports' });
    const other = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    vi.stubEnv('WORKER_QUEUES', 'reports,mail');
    expect(await work()).toMatchObject({ claimed: 1 });
    expect(await statusOf(db, reports.id)).toBe('completed');
    expect(await statusOf(db, other.id)).toBe('pending');
    vi.stubEnv('WORKER_QUEUES', 'no queue');
    await expect(work()).rejects.toThrow('queues: "no queue" does not match');
    vi.unstubAllEnvs();
  });

  test('that is not needed does not begin, and says why', async ({ work, db }) => {
    expect(await work(0), 'nothing is due').toMatchObject({ claimed: 0, reason: 'emptied' });
    await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    expect(await work(1), 'the first slot is enough for it').toMatchObject({ claimed: 0, reason: 'unneeded' });
  });

  test('that was woken stays for what comes right behind, and a tick meanwhile leaves it alone', async ({
    db,
    databaseUrl,
  }) => {
    vi.stubEnv('WORKER_PICKUP', 'instant');
    vi.stubEnv('DATABASE_URL', databaseUrl);
    const woken = handler({ slot: 0, woken: true }, context());
    await until(async () => (await db.query('SELECT FROM millrace.slots')).rowCount === 1);
    expect(await handler({ slot: 0 }, context())).toMatchObject({ reason: 'held' });
    await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    const summary = await woken;
    expect(summary).toMatchObject({ completed: 1, reason: 'emptied' });
    expect(summary.durationMs).toBeGreaterThanOrEqual(3000);
    vi.unstubAllEnvs();
  });

  test.for([[{}], [{ slot: -1 }], [{ slot: '0' }], [null]])(
    'refuses the event %j',
    async ([event], { databaseUrl }) => {
      process.env.DATABASE_URL = databaseUrl;
      await expect(handler(event, context())).rejects.toThrow();
    },
  );

  test('refuses settings that cannot be', async ({ work }) => {
    process.env.WORKER_CONCURRENCY = 'ten';
    try {
      await expect(work()).rejects.toThrow('WORKER_CONCURRENCY: must be a whole number');
    } finally {
      delete process.env.WORKER_CONCURRENCY;
    }
  });

  test('throws when the database cannot be reached', async () => {
    process.env.DATABASE_URL = 'postgres://nobody@127.0.0.1:1/nowhere';
    vi.resetModules();
    const fresh = await import('../../functions/work/handler.ts');
    await expect(fresh.handler({ slot: 0 }, context(10_500))).rejects.toThrow(/database/);
  });
});
