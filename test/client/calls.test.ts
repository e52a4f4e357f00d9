import { describe, expect, test } from 'vitest';
import { Client, type JobOptions } from '../../client/index.ts';
import { type Answer, ID, job, json, raw, serve } from './server.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The one request that `call` makes of a server that gives this answer, and what comes of it. */
async function made<T>(answer: Answer, call: (client: Client) => Promise<T>) {
  const server = await serve(answer);
  const result = await call(new Client({ url: server.url, token: 'mlr_test' }));
  expect(server.seen).toHaveLength(1);
  const [{ method, target, headers, body } = expect.fail()] = server.seen;
  return { result, asked: `${method} ${target}`, headers, body };
}

describe('enqueue', () => {
  test('sends the job with a key of its own, and answers id, outcome and job', async () => {
    const { result, asked, headers, body } = await made(json(201, { ...job(), outcome: 'created' }), (client) =>
      client.enqueue('hello.greet', { some_name: 'Ada', runAt: 1 }),
    );
    expect(asked).toBe('POST /jobs');
    expect(headers).toMatchObject({
      authorization: 'Bearer mlr_test',
      accept: 'application/json',
      'content-type': 'application/json',
      'x-request-id': expect.stringMatching(UUID),
    });
    expect(headers).not.toHaveProperty('traceparent');
    expect(body).toEqual({
      kind: 'hello.greet',
      payload: { some_name: 'Ada', runAt: 1 },
      idempotency_key: expect.stringMatching(UUID),
    });
    expect(result).toMatchObject({ id: ID, outcome: 'created', pruned: false, job: { id: ID, maxAttempts: 5 } });
    expect(result.job).not.toHaveProperty('outcome');
  });

  test('sends each option under its name on the wire, times as text, and the ids as headers', async () => {
    const { headers, body } = await made(json(200, { ...job(), outcome: 'replayed' }), (client) =>
      client.enqueue('hello.greet', null, {
        queue: 'slow',
        subject: 'invoice:7',
        priority: -5,
        runAt: new Date(0),
        delaySeconds: undefined,
        maxAttempts: 3,
        idempotencyKey: 'käse',
        uniqueKey: 'u',
        uniqueWhile: 'live',
        replace: ['payload', 'run_at'],
        requestId: 'req/1',
        traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      }),
    );
    expect(body).toEqual({
      kind: 'hello.greet',
      payload: null,
      queue: 'slow',
      subject: 'invoice:7',
      priority: -5,
      run_at: '1970-01-01T00:00:00.000Z',
      max_attempts: 3,
      idempotency_key: 'käse',
      unique_key: 'u',
      unique_while: 'live',
      replace: ['payload', 'run_at'],
    });
    expect(headers['x-request-id']).toBe('req/1');
    expect(headers.traceparent).toMatch(/^00-0af/);
  });

  test('a key whose job is gone answers without a job, and so does a job that could not be read back', async () => {
    const pruned = { id: ID, kind: 'hello.greet', pruned: true, outcome: 'replayed' };
    expect(
      (await made(json(200, pruned), (client) => client.enqueue('hello.greet', 1, { idempotencyKey: 'k' }))).result,
    ).toEqual({
      id: ID,
      outcome: 'replayed',
      pruned: true,
      job: undefined,
    });
    const unread = { id: ID, kind: 'hello.greet', outcome: 'created' };
    expect((await made(json(201, unread), (client) => client.enqueue('hello.greet', 1))).result).toEqual({
      id: ID,
      outcome: 'created',
      pruned: false,
      job: undefined,
    });
  });

  test('a replay of a key that nobody else can know is the call’s own first try', async () => {
    const replayed = json(200, { ...job(), outcome: 'replayed' });
    const outcomeWith = async (options: JobOptions) =>
      (await made(replayed, (client) => client.enqueue('hello.greet', 1, options))).result.outcome;
    expect(await outcomeWith({})).toBe('created');
    expect((await made(json(200, { ...job(), outcome: 'kept' }), (c) => c.enqueue('a', 1))).result.outcome).toBe(
      'kept',
    );
    expect(await outcomeWith({ idempotencyKey: 'k' })).toBe('replayed');
    // The first try may have met a twin as well.
    expect(await outcomeWith({ uniqueKey: 'u' })).toBe('replayed');
  });

  test.each<[string, object]>([
    ['no id', { ...job({ id: undefined }), outcome: 'created' }],
    ['no outcome', job()],
  ])('an answer with %s is none', async (_, body) => {
    const { url } = await serve(json(201, body));
    await expect(new Client({ url }).enqueue('a', 1)).rejects.toMatchObject({ code: 'unexpected-answer', tries: 1 });
  });

  test('an invalid date is refused before it is sent: JSON would make "now" of it', async () => {
    const client = new Client({ url: 'http://127.0.0.1:9' });
    await expect(client.enqueue('a', 1, { runAt: new Date('tomorrow') })).rejects.toThrow(RangeError);
  });
});

describe('enqueueMany', () => {
  test('sends the jobs in order, each with a key, and answers in order', async () => {
    const jobs = [
      { id: ID, outcome: 'created' },
      { id: ID, outcome: 'replayed', pruned: true },
    ];
    const { result, asked, body } = await made(json(201, { jobs }), (client) =>
      client.enqueueMany([
        { kind: 'a', payload: 1, maxAttempts: 2 },
        { kind: 'b', payload: 2, idempotencyKey: 'k' },
      ]),
    );
    expect(asked).toBe('POST /jobs/batch');
    expect(body).toEqual({
      jobs: [
        { kind: 'a', payload: 1, max_attempts: 2, idempotency_key: expect.stringMatching(UUID) },
        { kind: 'b', payload: 2, idempotency_key: 'k' },
      ],
    });
    expect(result).toEqual([
      { id: ID, outcome: 'created', pruned: false },
      { id: ID, outcome: 'replayed', pruned: true },
    ]);
  });

  test.each([0, 2])('an answer of %i jobs to a batch of one is none', async (count) => {
    const { url } = await serve(json(201, { jobs: Array(count).fill({ id: ID, outcome: 'created' }) }));
    const call = new Client({ url }).enqueueMany([{ kind: 'a', payload: 1 }]);
    await expect(call).rejects.toMatchObject({ code: 'unexpected-answer' });
  });

  test('nothing to send is nothing sent', async () => {
    expect(await new Client({ url: 'http://127.0.0.1:9' }).enqueueMany([])).toEqual([]);
  });

  test('more than 1,000 are refused, not sent in parts', async () => {
    const jobs = Array.from({ length: 1001 }, () => ({ kind: 'a', payload: 1 }));
    await expect(new Client({ url: 'http://127.0.0.1:9' }).enqueueMany(jobs)).rejects.toThrow(
      /^a batch holds at most 1,000 jobs, not 1001/,
    );
  });
});

describe('reading', () => {
  test('get asks for the parts, and leaves their keys as they are', async () => {
    const errors = [{ attempt: 1, started_at: 't', failed_at: 't', name: 'Error', message: 'no', where: 'w' }];
    const progress = { fraction: 0.5, note: 'half', updated_at: 't' };
    const stored = job({ payload: { a_b: [{ c_d: 1 }] }, result: { ['__proto__']: { e_f: 1 } }, errors, progress });
    const { result, asked } = await made(raw(200, JSON.stringify(stored)), (client) =>
      client.get(ID, { include: ['payload', 'result'] }),
    );
    expect(asked).toBe(`GET /jobs/${ID}?include=payload%2Cresult`);
    expect(result.payload).toEqual({ a_b: [{ c_d: 1 }] });
    expect(result.errors).toEqual([
      { attempt: 1, startedAt: 't', failedAt: 't', name: 'Error', message: 'no', where: 'w' },
    ]);
    expect(result.progress).toEqual({ fraction: 0.5, note: 'half', updatedAt: 't' });
    expect(result.cancelRequestedAt).toBeNull();
  });

  test('get alone asks for no parts', async () => {
    expect((await made(json(200, job()), (client) => client.get(ID))).asked).toBe(`GET /jobs/${ID}`);
  });

  test('list sends its filters, none of which can become another', async () => {
    const { asked } = await made(json(200, { jobs: [], next_cursor: null }), async (client) => {
      const filters = { status: 'dead', kind: 'a', createdAfter: new Date(0), createdBefore: '2026-01-01Z' } as const;
      for await (const _ of client.list({ ...filters, subject: 'a b+c&limit=9', limit: 7, cursor: 'x' })) expect.fail();
    });
    expect(asked).toBe(
      'GET /jobs?status=dead&kind=a&created_after=1970-01-01T00%3A00%3A00.000Z&created_before=2026-01-01Z' +
        '&subject=a%20b%2Bc%26limit%3D9&limit=7&cursor=x',
    );
  });

  test('counts asks for no more than the counts', async () => {
    const counts = { pending: 3, dead: 1000 };
    const { result, asked } = await made(
      json(200, { jobs: [job()], next_cursor: null, counts, counts_limit: 1000 }),
      (c) => c.counts({ kind: 'a' }),
    );
    expect(asked).toBe('GET /jobs?kind=a&limit=1&counts=true');
    expect(result).toEqual({ counts, countsLimit: 1000 });
  });

  test('ready', async () => {
    const body = { status: 'ready', schema_version: 9, lag_seconds: 0, paused: [], unclaimed_kinds: [] };
    const { result, asked } = await made(json(200, body), (client) => client.ready());
    expect(asked).toBe('GET /ready');
    expect(result).toEqual({ status: 'ready', schemaVersion: 9, lagSeconds: 0, paused: [], unclaimedKinds: [] });
  });

  test('metrics, as text', async () => {
    const text = '# HELP millrace_jobs Jobs.\nmillrace_jobs{kind="a"} 1\n';
    const { result, asked, headers } = await made(raw(200, text), (client) => client.metrics());
    expect(asked).toBe('GET /metrics');
    expect(headers).toMatchObject({ accept: 'text/plain' });
    expect(result).toBe(text);
    await expect(made(raw(200, '<html>'), (client) => client.metrics())).rejects.toThrow('unexpected-answer');
  });

  test('ready with the database', async () => {
    const body = { status: 'ready', database: { max_connections: 100, autovacuum_off: [] } };
    const { result, asked } = await made(json(200, body), (client) => client.ready({ include: ['database'] }));
    expect(asked).toBe('GET /ready?include=database');
    expect(result.database).toEqual({ maxConnections: 100, autovacuumOff: [] });
  });
});

describe('operators’ calls', () => {
  test('cancel, redrive and erase name the job', async () => {
    const cancelled = await made(json(202, job({ status: 'processing' })), (client) => client.cancel(ID));
    expect(cancelled).toMatchObject({ asked: `POST /jobs/${ID}/cancel`, result: { status: 'processing' } });
    const redriven = await made(json(200, job()), (client) => client.redrive(ID));
    expect(redriven).toMatchObject({ asked: `POST /jobs/${ID}/redrive`, result: { status: 'pending' } });
    const erased = await made(raw(204, ''), (client) => client.erase(ID));
    expect(erased).toMatchObject({ asked: `DELETE /jobs/${ID}`, result: undefined });
    expect(erased.headers).not.toHaveProperty('content-type');
  });

  test('pause and resume name a kind, a queue or a schedule', async () => {
    const paused = await made(json(200, { kind: 'a:b', paused: true }), (client) => client.pause({ kind: 'a:b' }));
    expect(paused).toMatchObject({ asked: 'POST /kinds/a%3Ab/pause', result: { kind: 'a:b', paused: true } });
    const resumed = await made(json(200, { queue: 'q', paused: false }), (client) => client.resume({ queue: 'q' }));
    expect(resumed).toMatchObject({ asked: 'POST /queues/q/resume', result: { queue: 'q', paused: false } });
    const quiet = await made(json(200, { schedule: 's', paused: true }), (client) => client.pause({ schedule: 's' }));
    expect(quiet).toMatchObject({ asked: 'POST /schedules/s/pause', result: { schedule: 's', paused: true } });
  });

  test('schedules are listed, and fired by name', async () => {
    const wire = { name: 'a:b', next_fire_at: '2026-03-29T01:30:00.000000Z', last_job_id: ID, catch_up: 'latest' };
    const listed = await made(json(200, { schedules: [wire] }), (client) => client.schedules());
    expect(listed).toMatchObject({
      asked: 'GET /schedules',
      result: [{ name: 'a:b', nextFireAt: wire.next_fire_at, lastJobId: ID, catchUp: 'latest' }],
    });
    const fired = await made(json(201, job()), (client) => client.fire('a:b'));
    expect(fired).toMatchObject({ asked: 'POST /schedules/a%3Ab/fire', result: { id: ID, status: 'pending' } });
  });

  test.each(['', '.', '..'])('an id or name that would lead to another route is refused: "%s"', async (text) => {
    const client = new Client({ url: 'http://127.0.0.1:9' });
    await expect(client.erase(text)).rejects.toThrow(/^expected an id or a name/);
    await expect(client.cancel(text)).rejects.toThrow(/^expected an id or a name/);
    await expect(client.pause({ queue: text })).rejects.toThrow(/^expected an id or a name/);
  });

  test('an id cannot leave its place in the path', async () => {
    const { asked } = await made(json(200, job()), (client) => client.get('../ready?a#b'));
    expect(asked).toBe('GET /jobs/..%2Fready%3Fa%23b');
  });
});
