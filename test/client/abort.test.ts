import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { ApiError, Client, type ClientOptions } from '../../client/index.ts';
import { type Answer, all, hang, hangUp, ID, job, json, problem, serve, stallMidway } from './server.ts';

const REASON = new Error('the user left');

/** Calls with a signal that aborts as soon as `step` has been reached. Resolves what the call rejects with. */
async function abortedAt(
  step: (server: { readonly seen: readonly unknown[] }) => boolean,
  answer: Answer,
  call: (client: Client, signal: AbortSignal) => Promise<unknown>,
  options: Partial<ClientOptions> = {},
) {
  const server = await serve(answer);
  const controller = new AbortController();
  const { signal } = controller;
  const ended = call(new Client({ url: server.url, ...options }), signal).then(
    () => expect.fail('resolved'),
    (reason: unknown) => reason,
  );
  await expect.poll(() => step(server), { interval: 5, timeout: 20_000 }).toBe(true);
  controller.abort(REASON);
  const reason = await ended;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  return { reason, requests: server.seen.length };
}

const asked = (times: number) => (server: { readonly seen: readonly unknown[] }) => server.seen.length === times;

describe('an abort ends a call with the signal’s reason', () => {
  test('before it began: nothing is sent', async () => {
    const server = await serve(json(200, job()));
    const client = new Client({ url: server.url });
    const options = { signal: AbortSignal.abort(REASON) };
    const calls = [client.get(ID, options), client.enqueue('a', 1, options), client.waitFor(ID, options)];
    for (const call of calls) await expect(call).rejects.toBe(REASON);
    for (const iterable of [client.list({}, options), client.redriveSteps({ kind: 'a' }, options)]) {
      await expect(all(iterable as AsyncIterable<unknown>)).rejects.toBe(REASON);
    }
    expect(server.seen).toEqual([]);
  });

  test.each<[string, Answer]>([
    ['while the answer is awaited', hang],
    ['while the body is awaited', stallMidway],
  ])('%s', async (_, answer) => {
    const { reason, requests } = await abortedAt(asked(1), answer, (client, signal) => client.get(ID, { signal }));
    expect(reason).toBe(REASON);
    expect(requests).toBe(1);
  });

  test('and lets go of the connection', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const call = (client: Client, signal: AbortSignal) => client.get(ID, { signal });
    await abortedAt(asked(1), (response) => void response.once('close', resolve), call);
    await closed;
  });

  test('while it waits to try again', async () => {
    const answer = problem(503, 'timeout', {}, { 'retry-after': '50' });
    const { reason, requests } = await abortedAt(asked(1), answer, (client, signal) => client.cancel(ID, { signal }));
    expect(reason).toBe(REASON);
    expect(requests).toBe(1);
  });

  test('while sign works', async () => {
    let isSigning = false;
    const sign = () => {
      isSigning = true;
      return new Promise<Request>(() => {});
    };
    const call = (client: Client, signal: AbortSignal) => client.enqueueMany([{ kind: 'a', payload: 1 }], { signal });
    const { reason, requests } = await abortedAt(() => isSigning, hang, call, { sign });
    expect(reason).toBe(REASON);
    expect(requests).toBe(0);
  });

  test('in a fetch that does not heed it', async () => {
    let isFetching = false;
    const fetch = () => {
      isFetching = true;
      return new Promise<Response>(() => {});
    };
    const call = (client: Client, signal: AbortSignal) => client.counts({}, { signal });
    expect((await abortedAt(() => isFetching, hang, call, { fetch })).reason).toBe(REASON);
  });

  test.each<[string, Answer]>([
    ['while the API holds the answer', hang],
    ['between two looks', json(200, job(), { 'retry-after': '50' })],
    ['between two tries', hangUp],
  ])('in waitFor, %s', async (_, answer) => {
    const { reason } = await abortedAt(asked(1), answer, (client, signal) => client.waitFor(ID, { signal }));
    expect(reason).toBe(REASON);
  });

  test('in the middle of a listing', async () => {
    const page: Answer = (response, seen) =>
      seen.target.includes('cursor')
        ? hang(response, seen)
        : json(200, { jobs: [job()], next_cursor: 'c' })(response, seen);
    const { reason } = await abortedAt(asked(2), page, (client, signal) => all(client.list({}, { signal })));
    expect(reason).toBe(REASON);
  });

  test('of AbortSignal.timeout is a TimeoutError, as from fetch', async () => {
    const server = await serve(hang);
    const call = new Client({ url: server.url }).get(ID, { signal: AbortSignal.timeout(20) });
    await expect(call).rejects.toSatisfy((reason: Error) => reason.name === 'TimeoutError');
  });
});

test('calls leave no listeners on a signal that outlives them', async () => {
  const server = await serve(hangUp, json(200, job({ status: 'completed', result: 1 })));
  const client = new Client({ url: server.url });
  const { signal } = new AbortController();
  await client.get(ID, { signal });
  await client.waitFor(ID, { signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an abort is no ApiError', async () => {
  const call = new Client({ url: 'http://127.0.0.1:9' }).get(ID, { signal: AbortSignal.abort() });
  await expect(call).rejects.not.toBeInstanceOf(ApiError);
});
