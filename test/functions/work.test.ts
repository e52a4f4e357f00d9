import { handler } from '../../functions/work/handler.ts';
import { pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { test as base, beforeEach, describe, expect, vi } from '../support/fixtures.ts';
import { context } from './api.ts';

const test = base.extend('work', async ({ databaseUrl }) => {
  Object.assign(process.env, { DATABASE_URL: databaseUrl, WORKER_LINGER_SECONDS: '0', LOG_LEVEL: 'debug' });
  return (slot: unknown = 0, remainingMs = 60_000) =>
    handler({ slot }, { ...context(remainingMs), logStreamName: '2026/11/29/[$LATEST]0f3a' });
});

const written = () => vi.mocked(process.stdout.write).mock.calls.map(([line]) => JSON.parse(String(line)));

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

  test('logs events and the summary as JSON, and hands CloudWatch a few metrics without kinds', async ({
    work,
    db,
  }) => {
    const { id } = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Unsaid' }, attempts: 0 });
    await work(3);
    const lines = written();
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'debug',
        message: 'job.completed',
        function: 'work',
        slot: 3,
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
    const [metrics] = lines.filter((line) => '_aws' in line);
    expect(metrics).toMatchObject({ FunctionName: 'test', JobsCompleted: 1, JobsBuried: 0 });
    const [directive] = metrics._aws.CloudWatchMetrics;
    expect(directive).toMatchObject({ Namespace: 'Millrace', Dimensions: [['FunctionName']] });
    for (const { Name } of directive.Metrics) expect(metrics[Name]).toBeTypeOf('number');
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
