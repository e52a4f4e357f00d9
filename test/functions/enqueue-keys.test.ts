import pg from 'pg';
import { enqueueOne } from '../../functions/enqueue/one.ts';
import { databaseHttp } from '../../functions/lambda/database-http.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { rowOf } from '../support/factories.ts';
import { answered, context, describe, expect, expectProblem, httpEvent, test } from './api.ts';

const GREETING = { kind: 'hello.greet', payload: { name: 'Ada' } };

describe('Idempotency-Key', () => {
  test('the same request again is the first job, 200, and says that it is a replay', async ({ call, db }) => {
    const send = () => call('POST', '/jobs', { body: GREETING, headers: { 'idempotency-key': 'order-7' } });
    const first = await send();
    expect(first).toMatchObject({ status: 201, body: { outcome: 'created', idempotency_key: 'order-7' } });
    expect(first.headers).not.toHaveProperty('idempotency-replayed');
    const again = await send();
    expect(again).toMatchObject({
      status: 200,
      headers: { 'idempotency-replayed': 'true', location: first.headers.location },
      body: { ...first.body, outcome: 'replayed' },
    });
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(1);
  });

  test('a header beyond ASCII is refused: as bytes without an encoding it would be another key than in the body', async ({
    call,
    db,
  }) => {
    // How Node and the gateway hand on the UTF-8 bytes of "Größe".
    const answer = await call('POST', '/jobs', { body: GREETING, headers: { 'idempotency-key': 'GrÃ¶Ã\u009fe' } });
    expectProblem(answer, 422, 'invalid-job');
    expect(answer.body.errors).toMatchObject([{ pointer: '/idempotency_key' }]);
    expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(0);
    const inBody = await call('POST', '/jobs', { body: { ...GREETING, idempotency_key: 'Größe' } });
    expect(inBody.body.idempotency_key).toBe('Größe');
  });

  test('in quotes, without, and in the body it is the same key', async ({ call }) => {
    const first = await call('POST', '/jobs', { body: GREETING, headers: { 'idempotency-key': '"order-7"' } });
    const bare = await call('POST', '/jobs', { body: GREETING, headers: { 'idempotency-key': ' order-7 ' } });
    const body = { ...GREETING, idempotency_key: 'order-7' };
    const inBody = await call('POST', '/jobs', { body });
    const inBoth = await call('POST', '/jobs', { body, headers: { 'idempotency-key': 'order-7' } });
    for (const { status, body } of [bare, inBody, inBoth]) {
      expect([status, body.id, body.outcome]).toEqual([200, first.body.id, 'replayed']);
    }
  });

  test('a record that is gone is told as pruned, with the id that it had', async ({ call, db }) => {
    const body = { ...GREETING, idempotency_key: 'order-7' };
    const first = await call('POST', '/jobs', { body });
    await db.query('DELETE FROM millrace.live_jobs');
    const again = await call('POST', '/jobs', { body });
    expect(again).toMatchObject({ status: 200, headers: { 'idempotency-replayed': 'true' } });
    expect(again.headers).not.toHaveProperty('location');
    expect(again.body).toEqual({ id: first.body.id, kind: 'hello.greet', outcome: 'replayed', pruned: true });
  });

  test('another payload is a 422 that points at the key', async ({ call, db }) => {
    await call('POST', '/jobs', { body: { ...GREETING, idempotency_key: 'order-7' } });
    const other = await call('POST', '/jobs', {
      body: { ...GREETING, payload: { name: 'Grace' } },
      headers: { 'idempotency-key': 'order-7' },
    });
    expectProblem(other, 422, 'idempotency-key-reused');
    expect(other.body.detail).toContain('"order-7"');
    expect(other.body.errors).toEqual([{ pointer: '/idempotency_key', detail: expect.stringContaining('another') }]);
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(1);
  });

  test('a key in a transaction that stays open: 409 and Retry-After after 3 s, then the replay', async ({
    call,
    databaseUrl,
  }) => {
    const holder = new pg.Client({ connectionString: databaseUrl });
    await holder.connect();
    await holder.query('BEGIN');
    const { id } = await insertJob(holder, { ...GREETING, idempotencyKey: 'order-7' });
    const send = (key: object) => call('POST', '/jobs', { body: { ...GREETING, ...key } });
    const waited = await send({ idempotency_key: 'order-7' });
    expectProblem(waited, 409, 'key-in-use');
    expect(waited.headers['retry-after']).toBe('1');
    expect((await send({})).status).toBe(201);
    await holder.query('COMMIT');
    await holder.end();
    expect((await send({ idempotency_key: 'order-7' })).body).toMatchObject({ id, outcome: 'replayed' });
  });
});

test('50 posts at once make one job and 49 replays, 100 times over', { timeout: 120_000 }, async ({ call, db }) => {
  await call('POST', '/jobs', { body: GREETING });
  // As many sandboxes, each with a connection of its own.
  const sandboxes = Array.from({ length: 50 }, () => databaseHttp('enqueue', enqueueOne));
  for (let round = 0; round < 100; round++) {
    const event = httpEvent('POST', '/jobs', { body: { ...GREETING, idempotency_key: `round-${round}` } });
    const answers = (await Promise.all(sandboxes.map((handler) => handler(event, context())))).map(answered);
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(49).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true')).toHaveLength(49);
  }
  expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(101);
});

describe('unique_key', () => {
  const unique = { ...GREETING, unique_key: 'customer:7' };

  test('a second request is answered with the job that waits', async ({ call, db }) => {
    const first = await call('POST', '/jobs', { body: unique });
    expect(first).toMatchObject({ status: 201, body: { outcome: 'created', unique_key: 'customer:7' } });
    const again = await call('POST', '/jobs', { body: { ...unique, payload: { name: 'Grace' } } });
    expect(again).toMatchObject({ status: 200, body: { ...first.body, outcome: 'kept' } });
    expect(again.headers).not.toHaveProperty('idempotency-replayed');
    expect(await rowOf(db, first.body.id)).toMatchObject({ payload: { name: 'Ada' } });
  });

  test('replace changes the job that waits, and the answer shows it', async ({ call, db }) => {
    const first = await call('POST', '/jobs', { body: unique });
    const replace = { payload: { name: 'Grace' }, run_at: '2031-05-06T01:02:03Z', replace: ['payload', 'run_at'] };
    const again = await call('POST', '/jobs', { body: { ...unique, ...replace } });
    expect(again).toMatchObject({
      status: 200,
      body: { id: first.body.id, outcome: 'replaced', run_at: '2031-05-06T01:02:03.000000Z' },
    });
    expect(await rowOf(db, first.body.id)).toMatchObject({ payload: { name: 'Grace' } });
  });

  test("unique_while: 'live' is answered with the job that runs", async ({ call, db }) => {
    const first = await call('POST', '/jobs', { body: unique });
    await db.query(
      `UPDATE millrace.live_jobs SET status = 'processing', attempts = 1, locked_by = id, locked_until = now()`,
    );
    const live = await call('POST', '/jobs', { body: { ...unique, unique_while: 'live' } });
    expect(live).toMatchObject({ status: 200, body: { id: first.body.id, status: 'processing', outcome: 'kept' } });
    expect((await call('POST', '/jobs', { body: unique })).status).toBe(201);
  });
});

test('the job carries the request’s id and its trace', async ({ call, db }) => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const headers = { 'x-request-id': 'request-7', traceparent };
  const one = await call('POST', '/jobs', { body: GREETING, headers });
  expect(one.body.request_id).toBe('request-7');
  expect(await rowOf(db, one.body.id)).toMatchObject({ request_id: 'request-7', traceparent });
  const keyed = await call('POST', '/jobs', { body: { ...GREETING, idempotency_key: 'k' }, headers });
  expect(await rowOf(db, keyed.body.id)).toMatchObject({ request_id: 'request-7', traceparent });
  const many = await call('POST', '/jobs/batch', { body: { jobs: [GREETING, GREETING] }, headers });
  for (const { id } of many.body.jobs) {
    expect(await rowOf(db, id)).toMatchObject({ request_id: 'request-7', traceparent });
  }
  const plain = await call('POST', '/jobs', { body: GREETING, headers: { traceparent: 'garbage' } });
  expect(await rowOf(db, plain.body.id)).toMatchObject({ request_id: expect.any(String), traceparent: null });
});
