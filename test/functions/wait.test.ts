import { readOnceEnded } from '../../functions/jobs-read/wait.ts';
import type { Database } from '../../functions/lambda/database.ts';
import { bury } from '../../functions/queue/bury.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import type { Db } from '../../functions/queue/db.ts';
import { get } from '../../functions/queue/get.ts';
import { look } from '../../functions/queue/look.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { openClient, vi } from '../support/fixtures.ts';
import { type Answer, answered, context, describe, expect, expectProblem, httpEvent, test as withCall } from './api.ts';
import { loopbackProxy } from './loopback-proxy.ts';

/** Far below the time that a wait which misses its job's end would take. */
const SOON = { timeout: 12_000 };
const NOBODY = '0195c9f0-0000-7000-8000-000000000000';

/** `network`: what lies between the handler and its database. `wait`: a request that waits, on a connection of its own. */
const test = withCall
  .extend('fileNetwork', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }) => {
    const proxy = await loopbackProxy(fileDatabase.url);
    onCleanup(() => proxy.close());
    return proxy;
  })
  .extend('network', async ({ fileNetwork, call: _ }) => {
    process.env.DATABASE_URL = fileNetwork.url;
    fileNetwork.mode = 'pass';
    vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    vi.resetModules();
    return fileNetwork;
  })
  .extend('wait', async ({ network: _, db }) => async (target: string, remainingMs = 60_000): Promise<Waiting> => {
    const { handler } = await import('../../functions/jobs-read/handler.ts');
    const waiting: Waiting = { answer: undefined, done: Promise.resolve() as never };
    const answer = handler(httpEvent('GET', target), context(remainingMs));
    Object.assign(waiting, { done: answer.then((it) => (waiting.answer = answered(it))) });
    await looked(db);
    return waiting;
  });

interface Waiting {
  /** Undefined as long as it waits. */
  answer: Answer | undefined;
  readonly done: Promise<Answer>;
}

/** Resolves once somebody has looked whether a job has ended. */
async function looked(db: Db): Promise<void> {
  await vi.waitUntil(
    async () =>
      (
        await db.query(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'millrace-jobs-read' AND query LIKE '%AS ahead'`,
        )
      ).rowCount !== 0,
    { timeout: 5000, interval: 5 },
  );
}

describe('GET /jobs/{id}?wait=', SOON, () => {
  test('answers when the job has ended, with what it asked for', async ({ wait, db }) => {
    const job = await processingJob(db);
    const waiting = await wait(`/jobs/${job.id}?wait=20&include=result`);
    expect(waiting.answer).toBeUndefined();
    await complete(db, [{ ...job, result: { ok: true } }]);
    const { status, headers, body } = await waiting.done;
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: job.id, status: 'completed', result: { ok: true } });
    expect(headers).not.toHaveProperty('retry-after');
  });

  test('answers at once for a job that has ended, and 404 for none', async ({ call, db, network: _ }) => {
    for (const { id } of [await finishedJob(db), await deadJob(db)])
      expect((await call('GET', `/jobs/${id}?wait=20`)).status).toBe(200);
    expectProblem(await call('GET', `/jobs/${NOBODY}?wait=20`), 404, 'no-such-job');
  });

  test('answers 404 for a job that was there and is gone', async ({ wait, db }) => {
    const { id } = await pendingJob(db);
    const waiting = await wait(`/jobs/${id}?wait=20`);
    await cancel(db, id);
    await db.query('DELETE FROM millrace.finished_jobs WHERE id = $1', [id]);
    expectProblem(await waiting.done, 404, 'no-such-job');
  });

  test('shows the job as it is when the time is up', async ({ call, db, network: _ }) => {
    const { id } = await pendingJob(db);
    const { status, headers, body } = await call('GET', `/jobs/${id}?wait=1`);
    expect(status).toBe(200);
    expect(body.status).toBe('pending');
    expect(headers).not.toHaveProperty('retry-after');
  });

  test('waits no longer than the function has time', async ({ wait, db }) => {
    const { id } = await pendingJob(db);
    const { status, body } = await (await wait(`/jobs/${id}?wait=20`, 2700)).done;
    expect({ status, job: body.status }).toEqual({ status: 200, job: 'pending' });
  });

  test('goes on waiting for a job that was redriven as soon as it was dead', async ({ db }) => {
    const job = await processingJob(db);
    let redriven = () => {};
    const again = new Promise<void>((resolve) => (redriven = resolve));
    // Between the look that finds it ended and the reading of it.
    const racing = {
      query: async (text: string, values: unknown[]) => {
        const answer = await db.query(text, values);
        if (answer.rows[0].ended.length > 0 && (await redrive(db, job.id)) === 'redriven') redriven();
        return answer;
      },
    } as unknown as Database;
    const invocation = { context: context(60_000), signal: new AbortController().signal };
    const first = Promise.withResolvers<void>();
    const read = () => get(db, job.id).finally(first.resolve);
    const waiting = readOnceEnded(read, racing, 20, invocation);
    // Else that may find it dead, and nobody waits.
    await first.promise;
    await bury(db, [{ ...job, error: { attempt: 1, name: 'Error', message: 'boom' } }]);
    await again;
    await cancel(db, job.id);
    expect(await waiting).toMatchObject({ job: { status: 'cancelled' }, crowded: false });
  });

  test('leaves the connection to other requests', async ({ call, wait, network, db }) => {
    const { id } = await pendingJob(db);
    const before = network.connections;
    const waiting = await wait(`/jobs/${id}?wait=20`);
    for (let limit = 1; limit < 6; limit++)
      expect((await call('GET', `/jobs?limit=${limit}`)).body.jobs).toHaveLength(1);
    expect(network.connections).toBe(before + 1);
    expect(waiting.answer).toBeUndefined();
    await cancel(db, id);
    expect((await waiting.done).body.status).toBe('cancelled');
  });

  test('answers at once, with Retry-After, when twenty others wait on this database', async ({
    wait,
    db,
    databaseUrl,
  }) => {
    const url = `${databaseUrl}?application_name=millrace-jobs-read`;
    const others = await Promise.all(Array.from({ length: 20 }, () => openClient(url)));
    const { id } = await pendingJob(db);
    const waiting = wait(`/jobs/${id}?wait=20`).then(({ done }) => done);
    let answer: Answer | undefined;
    void waiting.then((came) => (answer = came));
    while (answer === undefined) await Promise.all(others.map((other) => look(other, [id])));
    expect({ status: answer.status, job: answer.body.status, again: answer.headers['retry-after'] }).toEqual({
      status: 200,
      job: 'pending',
      again: '1',
    });
    await Promise.all(others.map((other) => other.end()));
  });

  test.for(['cut', 'loseAnswer'] as const)(
    'goes on over another connection when its own is lost: %s',
    async (lose, { wait, network, db }) => {
      const { id } = await pendingJob(db);
      const waiting = await wait(`/jobs/${id}?wait=20`);
      const before = network.connections;
      await network[lose]();
      await vi.waitUntil(() => network.connections > before, { timeout: 5000, interval: 5 });
      expect(waiting.answer).toBeUndefined();
      await cancel(db, id);
      expect((await waiting.done).body.status).toBe('cancelled');
    },
  );

  test('is a 503 when the database is gone', async ({ call, wait, network, db }) => {
    const { id } = await pendingJob(db);
    const waiting = await wait(`/jobs/${id}?wait=20`);
    network.mode = 'refuse';
    network.cut();
    expectProblem(await waiting.done, 503, 'database-unavailable');
    network.mode = 'pass';
    expect((await call('GET', '/jobs')).status).toBe(200);
  });

  test('is a 503 before the function would be killed when the database hangs, and the next request is well', async ({
    call,
    wait,
    network,
    db,
  }) => {
    const { id } = await pendingJob(db);
    const waiting = await wait(`/jobs/${id}?wait=20`, 3500);
    network.mode = 'hang';
    expectProblem(await waiting.done, 503, 'timeout');
    network.mode = 'pass';
    expect((await call('GET', '/jobs')).status).toBe(200);
  });

  test.for(['-1', '21', '1.5', 'x', '', '020', '1e1'])(
    'takes whole seconds up to 20: not %j',
    async (seconds, { call }) => {
      const answer = await call('GET', `/jobs/${NOBODY}?wait=${seconds}`);
      expectProblem(answer, 400, 'invalid-query');
      expect(answer.body.errors).toEqual([
        { pointer: '/wait', detail: 'must be a whole number of seconds from 0 to 20' },
      ]);
    },
  );
});
