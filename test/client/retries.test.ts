import { describe, expect, test } from 'vitest';
import { type ApiError, Client } from '../../client/index.ts';
import {
  type Answer,
  cutMidway,
  failureOf,
  hang,
  hangUp,
  ID,
  job,
  json,
  problem,
  raw,
  serve,
  stallMidway,
} from './server.ts';

const created = json(201, { ...job(), outcome: 'created' });

describe('a call is tried again', () => {
  test.each<[string, Answer]>([
    ['429 of the gateway', json(429, { message: 'Too Many Requests' })],
    ['500 of the gateway, whose function died', json(500, { message: 'Internal Server Error' })],
    ['502', raw(502, '<html>bad gateway</html>')],
    ['503', problem(503, 'database-unavailable')],
    ['504', raw(504, '')],
    ['a key in use', problem(409, 'key-in-use')],
    ['a hang-up in place of an answer', hangUp],
    ['an answer that is cut in the middle', cutMidway],
    ['silence', hang],
    ['an answer that stalls in the middle', stallMidway],
  ])('as the very same request after: %s', async (_, answer) => {
    const server = await serve(answer, created);
    const client = new Client({ url: server.url, tryTimeoutSeconds: 2 });
    expect(await client.enqueue('hello.greet', { name: 'Ada' })).toMatchObject({ id: ID, outcome: 'created' });
    const [first, ...again] = server.seen;
    expect(first?.body.idempotency_key).toHaveLength(36);
    expect(again.length).toBeGreaterThan(0);
    for (const { method, target, text, headers } of again) {
      expect({ method, target, text }).toEqual({ method: 'POST', target: '/jobs', text: first?.text });
      expect(headers['x-request-id']).toBe(first?.headers['x-request-id']);
    }
  });

  test('but no two calls are the same', async () => {
    const server = await serve(created);
    const client = new Client({ url: server.url });
    await client.enqueue('hello.greet', { name: 'Ada' });
    await client.enqueue('hello.greet', { name: 'Ada' });
    const [first, second] = server.seen;
    expect(second?.body.idempotency_key).not.toBe(first?.body.idempotency_key);
    expect(second?.headers['x-request-id']).not.toBe(first?.headers['x-request-id']);
  });

  test('a batch with the same key for each item', async () => {
    const server = await serve(hangUp, json(201, { jobs: [{ id: ID, outcome: 'created' }] }));
    await new Client({ url: server.url }).enqueueMany([{ kind: 'a', payload: 1 }]);
    const [first, second] = server.seen;
    expect(second?.text).toBe(first?.text);
    expect(first?.body.jobs[0].idempotency_key).toHaveLength(36);
  });

  test.each(['cancel', 'redrive', 'erase'] as const)('%s under the same request id', async (verb) => {
    const server = await serve(hangUp, verb === 'erase' ? raw(204, '') : json(200, job()));
    await new Client({ url: server.url })[verb](ID);
    const [first, second] = server.seen;
    expect(second?.headers['x-request-id']).toBe(first?.headers['x-request-id']);
    expect(first?.headers['x-request-id']).toHaveLength(36);
  });

  test('as often as it may, and then the last failure comes out', async () => {
    const server = await serve(hangUp);
    const error = await failureOf(new Client({ url: server.url, retries: 2 }).get(ID));
    expect(server.seen).toHaveLength(3);
    expect(error).toMatchObject({ code: 'unreachable', status: 0, tries: 3 });
    expect(error.message).toContain('3 tries');
  });

  test('never where no retries are wanted, and never for ready', async () => {
    const server = await serve(problem(503, 'database-unavailable'));
    expect(await failureOf(new Client({ url: server.url, retries: 0 }).get(ID))).toMatchObject({ tries: 1 });
    expect(await failureOf(new Client({ url: server.url }).ready())).toMatchObject({ code: 'database-unavailable' });
    expect(server.seen).toHaveLength(2);
  });
});

describe('a call is not tried again', () => {
  test.each<[string, Answer, Partial<ApiError>]>([
    ['bad input', problem(400, 'invalid-id'), { code: 'invalid-id', status: 400 }],
    ['no job', problem(404, 'no-such-job'), { code: 'no-such-job', status: 404 }],
    ['the wrong state', problem(409, 'wrong-state', { job_status: 'dead' }), { code: 'wrong-state', status: 409 }],
    ['an invalid job', problem(422, 'invalid-job'), { code: 'invalid-job', status: 422 }],
    ['an error on that side, which it has logged', problem(500, 'internal-error'), { code: 'internal-error' }],
    ['401', json(401, { message: 'Unauthorized' }), { code: 'unauthorized', status: 401 }],
    ['403', json(403, { message: 'Forbidden' }), { code: 'forbidden', status: 403 }],
    ['a success that is none', raw(200, 'hello'), { code: 'unexpected-answer', status: 200 }],
  ])('after: %s', async (_, answer, error) => {
    const server = await serve(answer);
    expect(await failureOf(new Client({ url: server.url }).get(ID))).toMatchObject({ ...error, tries: 1 });
    expect(server.seen).toHaveLength(1);
  });
});

describe('time', () => {
  test('a try that hangs ends, and so does the call', async () => {
    const server = await serve(hang);
    const client = new Client({ url: server.url, tryTimeoutSeconds: 0.05, retries: 1 });
    const error = await failureOf(client.get(ID));
    expect(error).toMatchObject({ code: 'timed-out', status: 0, tries: 2, detail: expect.stringContaining('0.05 s') });
  });

  test('the bound of a call cuts a try short, and can be set for one call', async () => {
    const server = await serve(hang);
    const error = await failureOf(new Client({ url: server.url }).get(ID, { timeoutSeconds: 0.2 }));
    expect(error).toMatchObject({ code: 'timed-out', tries: 1, detail: expect.stringContaining('0.2 s') });
    await expect(new Client({ url: server.url }).get(ID, { timeoutSeconds: -1 })).rejects.toThrow(RangeError);
  });

  test('a fetch that heeds no signal is left behind', async () => {
    const client = new Client({ url: 'https://jobs.example', fetch: () => new Promise(() => {}), retries: 0 });
    expect(await failureOf(client.get(ID, { timeoutSeconds: 0.05 }))).toMatchObject({ code: 'timed-out' });
  });

  test('Retry-After is waited for, in seconds and as a date by the server’s clock', async () => {
    // A server whose clock is years behind: only with its own Date is that date one second away.
    const date = { date: 'Wed, 21 Oct 2015 07:28:00 GMT', 'retry-after': 'Wed, 21 Oct 2015 07:28:01 GMT' };
    for (const headers of [{ 'retry-after': '1' }, date]) {
      const server = await serve(problem(503, 'timeout', {}, headers), json(200, job()));
      await new Client({ url: server.url }).get(ID);
      const [first, second] = server.seen;
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(990);
    }
  });

  test('a Retry-After beyond the call’s time is not waited for: it comes with the error', async () => {
    const server = await serve(json(429, {}, { 'retry-after': '3600' }));
    expect(await failureOf(new Client({ url: server.url }).get(ID))).toMatchObject({
      code: 'throttled',
      retryAfterSeconds: 3600,
      tries: 1,
    });
  });
});
