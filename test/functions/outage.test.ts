import { handler as enqueueHandler } from '../../functions/enqueue/handler.ts';
import { pendingJob } from '../support/factories.ts';
import { vi } from '../support/fixtures.ts';
import { answered, context, describe, expect, expectProblem, httpEvent, test as withCall } from './api.ts';
import { loopbackProxy } from './loopback-proxy.ts';

/** `network`: what lies between the handlers of this file and their database. `call` goes by way of it. */
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
    return fileNetwork;
  });

const JOB = { body: { kind: 'hello.greet', payload: { name: 'Ada' } } };

describe('an outage of the database', () => {
  test('is a 503 with Retry-After on every route that needs it, and over without a restart', async ({
    call,
    network,
    db,
  }) => {
    const { id } = await pendingJob(db);
    const requests: [string, string, object?][] = [
      ['POST', '/jobs', JOB],
      ['GET', '/jobs'],
      ['GET', `/jobs/${id}`],
      ['GET', '/ready'],
      ['GET', '/metrics'],
      ['POST', `/jobs/${id}/cancel`],
    ];
    for (const [method, target, request] of requests)
      expect((await call(method, target, request)).status).toBeLessThan(300);
    network.mode = 'refuse';
    network.cut();
    for (const [method, target, request] of requests) {
      const answer = await call(method, target, request);
      expectProblem(answer, 503, 'database-unavailable');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect((await call('GET', '/health')).status).toBe(200);
    network.mode = 'pass';
    for (const [method, target, request] of requests)
      expect((await call(method, target, request)).status).toBeLessThan(300);
  });

  test('that ended an idle connection is not seen by the next request', async ({ call, network, db }) => {
    expect((await call('GET', '/jobs')).status).toBe(200);
    network.cut();
    expect((await call('GET', '/jobs')).status).toBe(200);
    await db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'millrace-%'`);
    expect((await call('GET', '/jobs')).status).toBe(200);
  });
});

describe('a lost answer', () => {
  test('to an enqueue leaves one job, and the answer is its', async ({ call, network, db }) => {
    expect((await call('POST', '/jobs', JOB)).status).toBe(201);
    const before = network.connections;
    const lost = network.loseAnswer();
    const answer = await call('POST', '/jobs', JOB);
    await lost;
    expect(network.connections).toBe(before + 1);
    expect(answer.status).toBe(201);
    const { rows } = await db.query('SELECT id FROM millrace.jobs ORDER BY id DESC');
    expect(rows).toHaveLength(2);
    expect(rows[0].id).toBe(answer.body.id);
  });

  test('to an enqueue with keys, or to many, is what the first try did: nobody is told of a replay', async ({
    call,
    network,
    db,
  }) => {
    const keyed = (n: number) => ({ ...JOB.body, idempotency_key: `i${n}`, unique_key: `u${n}` });
    expect((await call('POST', '/jobs', JOB)).status).toBe(201);
    for (const [target, body] of [
      ['/jobs', keyed(1)],
      ['/jobs/batch', { jobs: [JOB.body, keyed(2), JOB.body] }],
    ] as const) {
      const lost = network.loseAnswer();
      const answer = await call('POST', target, { body });
      await lost;
      expect(answer.status).toBe(201);
      const made: { id: string; outcome: string }[] = answer.body.jobs ?? [answer.body];
      expect(new Set(made.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
      const { rowCount } = await db.query('SELECT FROM millrace.jobs WHERE id = ANY ($1)', [made.map(({ id }) => id)]);
      expect(rowCount).toBe(made.length);
    }
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(5);
  });

  test('to reading the new job back does not deny that it is in: 201 with its id', async ({ call, network, db }) => {
    expect((await call('GET', '/jobs')).status).toBe(200);
    expect((await call('POST', '/jobs', JOB)).status).toBe(201);
    const lost = network.loseAnswer(1).then(() => {
      network.mode = 'refuse';
    });
    const answer = await call('POST', '/jobs', JOB);
    await lost;
    expect(answer).toMatchObject({ status: 201, headers: { location: `/jobs/${answer.body.id}` } });
    expect(answer.body).toEqual({ id: expect.any(String), kind: 'hello.greet', outcome: 'created' });
    const { rows } = await db.query('SELECT id FROM millrace.jobs ORDER BY id DESC');
    expect(rows).toHaveLength(2);
    expect(rows[0].id).toBe(answer.body.id);
  });

  test('to a cancel does not turn into a conflict', async ({ call, network, db }) => {
    expect((await call('POST', `/jobs/${(await pendingJob(db)).id}/cancel`)).status).toBe(200);
    const { id } = await pendingJob(db);
    const lost = network.loseAnswer();
    expect(await call('POST', `/jobs/${id}/cancel`)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
    await lost;
  });
});

describe('a database that hangs', () => {
  test('costs the caller a 503 before the function would be killed, and the next request nothing', async ({
    call,
    network,
  }) => {
    expect((await call('POST', '/jobs', JOB)).status).toBe(201);
    network.mode = 'hang';
    const began = performance.now();
    const answer = answered(await enqueueHandler(httpEvent('POST', '/jobs', JOB), context(1500)));
    expectProblem(answer, 503, 'timeout');
    expect(answer.headers['retry-after']).toBeDefined();
    expect(performance.now() - began).toBeLessThan(1400);
    network.mode = 'pass';
    const next = performance.now();
    expect((await call('POST', '/jobs', JOB)).status).toBe(201);
    expect(performance.now() - next).toBeLessThan(1000);
  });
});

test('a server without a free connection is a 503, and what it says is in the log', async ({ network, db }) => {
  const user = `crowded_${Math.random().toString(36).slice(2)}`;
  await db.query(`CREATE ROLE ${user} LOGIN PASSWORD 'unsaid' CONNECTION LIMIT 0`);
  try {
    const url = new URL(network.url);
    url.username = user;
    url.password = 'unsaid';
    process.env.DATABASE_URL = url.href;
    vi.resetModules();
    const { handler } = await import('../../functions/metrics/handler.ts');
    const answer = answered(await handler(httpEvent('GET', '/metrics'), context()));
    expectProblem(answer, 503, 'database-unavailable');
    expect(answer.body.detail).toContain('no connection');
    const logged = vi.mocked(process.stdout.write).mock.calls.map(([line]) => JSON.parse(String(line)));
    expect(logged).toMatchObject([
      { level: 'error', request_id: answer.body.request_id, problem: 'database-unavailable', error: { code: '53300' } },
    ]);
    expect(JSON.stringify(logged)).not.toContain(url.password);
  } finally {
    await db.query(`DROP ROLE ${user}`);
  }
});
