import { once } from 'node:events';
import { createServer as createTcpServer } from 'node:net';
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { type ApiError, Client, type ClientOptions, type ProblemCode } from '../../client/index.ts';
import type { ProblemName } from '../../functions/lambda/problems.ts';
import { type Answer, cutMidway, failureOf, hangUp, ID, json, problem, raw, serve } from './server.ts';

async function errorOf(answer: Answer, options: Partial<ClientOptions> = {}): Promise<ApiError> {
  const server = await serve(answer);
  return failureAt({ url: server.url, retries: 0, ...options });
}

const failureAt = (options: ClientOptions) => failureOf(new Client(options).get(ID));

describe('a problem', () => {
  test('comes out with all that it says', async () => {
    const errors = [{ index: 3, pointer: '/jobs/3/payload/name', detail: 'must be text' }];
    const error = await errorOf(problem(422, 'invalid-job', { errors, job_id: ID }));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'ApiError',
      code: 'invalid-job',
      status: 422,
      type: 'urn:millrace:problem:invalid-job',
      detail: 'What to do.',
      errors,
      requestId: 'r-1',
      problem: { job_id: ID },
    });
    expect(error.message).toBe(
      `GET /jobs/${ID}: 422 invalid-job: What to do. /jobs/3/payload/name must be text (request r-1)`,
    );
  });

  test('shows five flaws in its message and keeps all', async () => {
    const errors = Array.from({ length: 20 }, (_, n) => ({ pointer: n === 0 ? '' : `/${n}`, detail: 'is bad' }));
    const error = await errorOf(problem(422, 'invalid-job', { errors }));
    expect(error.message).toContain('the whole is bad; /1 is bad; /2 is bad; /3 is bad; /4 is bad; and 15 more (');
    expect(error.errors).toHaveLength(20);
  });

  test('has a code that the client knows', () => {
    expectTypeOf<ProblemName>().toExtend<ProblemCode>();
    expectTypeOf<ProblemCode>().toExtend<ProblemName>();
  });
});

describe('what is no answer of the API', () => {
  const html = { 'content-type': 'text/html' };
  test.each<[string, Answer, Partial<ApiError>, RegExp]>([
    ['a page for people', raw(200, '<!doctype html>', html), { code: 'unexpected-answer', status: 200 }, /text\/html/],
    ['another JSON', json(200, { hello: 1 }), { code: 'unexpected-answer' }, /hello.*Is it what url points at\?/],
    ['a number', json(200, 7), { code: 'unexpected-answer' }, /"7"/],
    ['null', json(200, null), { code: 'unexpected-answer' }, /null/],
    ['an empty body', raw(200, ''), { code: 'unexpected-answer' }, /no content type: ""/],
    ['half of a JSON', raw(200, '{"id": "0196'), { code: 'unexpected-answer' }, /0196/],
    ['binary', raw(200, '\0\u0001\u{1F600}'), { code: 'unexpected-answer' }, /\\u0000\\u0001/],
    ['a lone surrogate', raw(200, `${'x'.repeat(99)}\u{1F600}`), { code: 'unexpected-answer' }, /x\\ud83d"/],
    [
      'a redirect',
      raw(308, '', { location: 'https://b.example/jobs' }),
      { code: 'redirected', status: 308 },
      /https:\/\/b\.example\/jobs.*as url/,
    ],
    ['a redirect to nowhere', raw(302, ''), { code: 'redirected' }, /elsewhere/],
    ['not modified', raw(304, ''), { code: 'redirected', status: 304 }, /url/],
    [
      'no credentials',
      json(401, { message: 'Unauthorized' }),
      { code: 'unauthorized', status: 401 },
      /give token, or sign/,
    ],
    ['bad credentials', json(403, { message: 'Forbidden' }), { code: 'forbidden', status: 403 }, /not known here/],
    [
      'a path that is not there',
      json(404, { message: 'Not Found' }),
      { code: 'unexpected-answer', status: 404 },
      /url.*Not Found/,
    ],
    ['too large for the gateway', json(413, { message: 'x' }), { code: 'unexpected-answer', status: 413 }, /x/],
    ['throttling', json(429, { message: 'Too Many Requests' }), { code: 'throttled', status: 429 }, /send fewer/],
    ['a broken gateway', raw(502, '<html>', html), { code: 'gateway-error', status: 502 }, /try again later.*<html>/],
    [
      'a problem of somebody else',
      json(400, { type: 'about:blank', detail: 'x' }),
      { code: 'unexpected-answer' },
      /about:blank/,
    ],
    [
      'errors that are none',
      problem(422, 'invalid-job', { errors: 'many' }),
      { code: 'invalid-job', errors: [] },
      /What to do/,
    ],
  ])('is a clear error: %s', async (_, answer, members, message) => {
    const error = await errorOf(answer);
    expect(error).toMatchObject(members);
    expect(error.message).toMatch(message);
    expect(error.message.length).toBeLessThan(600);
  });

  test('a redirect is not followed, so no token goes there', async () => {
    const other = await serve(json(200, {}));
    await errorOf(raw(307, '', { location: other.url }), { token: 'mlr_secret' });
    expect(other.seen).toEqual([]);
  });

  test('the id of the gateway’s log is shown where the API has not answered', async () => {
    const error = await errorOf(json(403, { message: 'Forbidden' }, { 'apigw-requestid': 'gw-1' }));
    expect(error.requestId).toBe('gw-1');
    expect((await errorOf(json(403, {}))).requestId).toHaveLength(36);
  });

  test('a clock that is wrong by more than signatures allow is named', async () => {
    const ago = (seconds: number) => ({ date: new Date(Date.now() - seconds * 1000).toUTCString() });
    const ahead = await errorOf(json(403, {}, ago(3600)));
    expect(ahead.message).toMatch(/This machine's clock is 36\d\d s ahead of the server's/);
    expect((await errorOf(json(403, {}, ago(-3600)))).message).toMatch(/clock is 3\d{3} s behind the server's/);
    expect((await errorOf(json(403, {}, ago(30)))).message).not.toContain('clock');
  });
});

describe('no answer', () => {
  test('a refused connection', async () => {
    const server = await serve(hangUp);
    await server.stop();
    const error = await failureAt({ url: server.url, retries: 1 });
    expect(error).toMatchObject({ code: 'unreachable', status: 0, tries: 2 });
    expect(error.message).toContain('ECONNREFUSED');
    expect(error.message).toContain(server.url);
    expect(error.cause).toBeInstanceOf(TypeError);
  });

  test('a name that nobody has', async () => {
    const error = await failureAt({ url: 'http://jobs.invalid', retries: 0 });
    expect(error.code).toBe('unreachable');
    expect(error.message).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  test('a hang-up, and an answer that is cut', async () => {
    for (const answer of [hangUp, cutMidway]) {
      const error = await errorOf(answer);
      expect(error.code).toBe('unreachable');
      expect(error.message).toMatch(/closed|terminated|socket/i);
    }
  });

  test('a server that speaks something else', async () => {
    const server = createTcpServer((socket) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    expect(await failureAt({ url: `http://127.0.0.1:${port}`, retries: 0 })).toMatchObject({ code: 'unreachable' });
    expect(await failureAt({ url: `https://127.0.0.1:${port}`, retries: 0 })).toMatchObject({ code: 'unreachable' });
  });

  test('what sign throws comes out as it is, and is not tried again', async () => {
    const error = new Error('no credentials');
    let signed = 0;
    const sign = () => {
      signed++;
      throw error;
    };
    await expect(new Client({ url: 'http://127.0.0.1:9', sign }).get(ID)).rejects.toBe(error);
    expect(signed).toBe(1);
  });
});
