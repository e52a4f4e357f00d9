import { request as httpRequest } from 'node:http';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../../local/gateway.ts';
import { routeOf } from '../../local/routes.ts';
import { ThreadSandbox } from '../../local/sandbox-thread.ts';
import { functionOf } from './bundle.ts';

const ECHO = 'export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });';

/** A gateway with one function behind these routes. */
async function gatewayTo(source: string, { keys = ['$default'], timeoutMs = 30_000, timeoutSeconds = 5 } = {}) {
  const fn = await functionOf(source, { timeoutSeconds });
  const sandbox = new ThreadSandbox(fn, () => {});
  const why: string[] = [];
  const gateway = await openGateway({
    port: 0,
    invoke: (_, event, requestId) => sandbox.invoke(event, requestId),
    onAnswer: (_request, _status, _ms, reason) => why.push(reason ?? ''),
  });
  gateway.open(keys.map((key) => ({ ...routeOf(key, timeoutMs), fn, guard: { kind: 'none' } })));
  onTestFinished(async () => {
    gateway.hurry();
    await Promise.all([gateway.close(), sandbox.close()]);
  });
  return { url: gateway.url, why, gateway };
}

/** `fetch` would tidy up paths and headers. */
function send(
  url: string,
  target: string,
  options: { method?: string; headers?: string[]; body?: string | Buffer } = {},
) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const headers = ['host', `${hostname}:${port}`, ...(options.headers ?? [])];
    if (options.body !== undefined) headers.push('content-length', String(Buffer.byteLength(options.body)));
    const request = httpRequest(
      { hostname, port, path: target, method: options.method ?? 'GET', headers },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      },
    );
    request.once('error', reject);
    request.end(options.body);
  });
}

async function eventOf(
  url: string,
  target: string,
  options: Parameters<typeof send>[2] = {},
): Promise<APIGatewayProxyEventV2> {
  return JSON.parse((await send(url, target, options)).body);
}

describe('the event of a request', () => {
  test('has every field of payload format 2.0', async () => {
    const { url } = await gatewayTo(ECHO, { keys: ['POST /jobs/{id}/cancel'] });
    const event = await eventOf(url, '/jobs/J%C3%BCrgen%20M/cancel?a=1&b=x%20y&a=2&c', {
      method: 'POST',
      headers: [
        'Content-Type',
        'application/json',
        'X-Twice',
        'one',
        'x-twice',
        'two',
        'Cookie',
        'a=1; b=2',
        'User-Agent',
        'me/1',
      ],
      body: '{"k":"ä"}',
    });
    const { port } = new URL(url);
    expect(event).toEqual({
      version: '2.0',
      routeKey: 'POST /jobs/{id}/cancel',
      rawPath: '/jobs/Jürgen M/cancel',
      rawQueryString: 'a=1&b=x%20y&a=2&c',
      cookies: ['a=1', 'b=2'],
      headers: {
        host: `127.0.0.1:${port}`,
        'content-type': 'application/json',
        'content-length': '10',
        'x-twice': 'one,two',
        'user-agent': 'me/1',
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-port': port,
        'x-forwarded-proto': 'http',
        'x-amzn-trace-id': expect.stringMatching(/^Root=1-[0-9a-f]{8}-[0-9a-f]{24}$/),
      },
      queryStringParameters: { a: '1,2', b: 'x y', c: '' },
      pathParameters: { id: 'Jürgen M' },
      body: '{"k":"ä"}',
      isBase64Encoded: false,
      requestContext: {
        accountId: '000000000000',
        apiId: 'local',
        domainName: '127.0.0.1',
        domainPrefix: '127',
        http: {
          method: 'POST',
          path: '/jobs/Jürgen M/cancel',
          protocol: 'HTTP/1.1',
          sourceIp: '127.0.0.1',
          userAgent: 'me/1',
        },
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        routeKey: 'POST /jobs/{id}/cancel',
        stage: '$default',
        time: expect.stringMatching(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/),
        timeEpoch: expect.any(Number),
      },
    });
  });

  test('has headers of every name, and the path of a whole URL', async () => {
    const { url } = await gatewayTo(ECHO);
    const headers = ['constructor', 'a', '__proto__', 'b'];
    const event = await eventOf(url, `${url}/jobs?limit=1`, { headers });
    expect(event).toMatchObject({ rawPath: '/jobs', rawQueryString: 'limit=1', headers: { constructor: 'a' } });
    expect(Object.entries(event.headers)).toContainEqual(['__proto__', 'b']);
    expect((await eventOf(url, url)).rawPath).toBe('/');
  });

  test('leaves out what the request does not have', async () => {
    const { url } = await gatewayTo(ECHO);
    const event = await eventOf(url, '/');
    expect(event).toMatchObject({ rawQueryString: '', isBase64Encoded: false, routeKey: '$default' });
    for (const absent of ['body', 'cookies', 'queryStringParameters', 'pathParameters'])
      expect(event).not.toHaveProperty(absent);
  });

  test.each([
    ['application/json', false],
    ['Application/JSON; charset=utf-8', false],
    ['text/csv', false],
    ['application/xml', false],
    ['application/x-www-form-urlencoded', true],
    ['application/problem+json', true],
    ['application/octet-stream', true],
    [undefined, true],
  ])('a body of type %s is base64: %s', async (type, binary) => {
    const { url } = await gatewayTo(ECHO);
    const event = await eventOf(url, '/', { method: 'POST', headers: type ? ['content-type', type] : [], body: 'ä=1' });
    expect(event.isBase64Encoded).toBe(binary);
    expect(Buffer.from(event.body ?? '', binary ? 'base64' : 'utf8').toString()).toBe('ä=1');
  });
});

describe('the answer of the gateway itself', () => {
  test('404 for a path without route, and for HEAD and OPTIONS where only GET has one', async () => {
    const { url } = await gatewayTo(ECHO, { keys: ['GET /jobs'] });
    for (const [method, target] of [
      ['GET', '/nowhere'],
      ['OPTIONS', '/jobs'],
    ] as const) {
      expect(await send(url, target, { method })).toMatchObject({ status: 404, body: '{"message":"Not Found"}' });
    }
    expect(await send(url, '/jobs', { method: 'HEAD' })).toMatchObject({ status: 404, body: '' });
  });

  test('400 for a path that is no percent-encoded UTF-8', async () => {
    const { url } = await gatewayTo(ECHO);
    expect(await send(url, '/jobs/%zz')).toMatchObject({ status: 400, body: '{"message":"Bad Request"}' });
  });

  test('413 above 10 MB, and the connection is not left with half a body', async () => {
    const { url } = await gatewayTo(ECHO);
    const body = Buffer.alloc(10 * 1024 * 1024 + 1, 'x');
    const answer = await send(url, '/', { method: 'POST', body });
    expect(answer).toMatchObject({ status: 413, body: '{"message":"Request Entity Too Large"}' });
    expect(answer.headers.connection).toBe('close');
  });

  test('413 too when the length was not announced', async () => {
    const { url } = await gatewayTo(ECHO);
    async function* elevenMegabytes() {
      for (let n = 0; n < 11; n += 1) yield new Uint8Array(1024 * 1024);
    }
    const init = { method: 'POST', body: elevenMegabytes(), duplex: 'half' } as unknown as RequestInit;
    const answer = await fetch(url, init);
    expect(answer.status).toBe(413);
  });

  test('403 for a host that is not this machine, as a page that rebinds its name would send it', async () => {
    const { url, why } = await gatewayTo(ECHO);
    const answer = await new Promise<number>((resolve) => {
      httpRequest(url, { headers: { host: 'evil.example' } }, (response) =>
        resolve(response.resume().statusCode ?? 0),
      ).end();
    });
    expect(answer).toBe(403);
    expect(why).toEqual(['it was for the host "evil.example", not for localhost']);
  });

  test('403 for what a page from elsewhere sends, and not for one of this machine', async () => {
    const { url, why } = await gatewayTo(ECHO);
    const sentBy = (origin: string) =>
      send(url, '/queues/default/pause', { method: 'POST', headers: ['Origin', origin] });
    for (const origin of [
      'https://evil.example',
      'null',
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
    ])
      expect((await sentBy(origin)).status, origin).toBe(403);
    expect(why[0]).toBe('it was sent by a page of "https://evil.example", not of localhost');
    for (const origin of ['http://localhost:8080', url]) expect((await sentBy(origin)).status, origin).toBe(200);
  });

  test.each([
    ['throws', 'export const handler = async () => { throw new Error("inside"); };', /threw Error: inside/],
    [
      'returns what is no response',
      'export const handler = async () => ({ statusCode: "often" });',
      /no valid response/,
    ],
    [
      'sets a header that HTTP does not allow',
      'export const handler = async () => ({ statusCode: 200, headers: { "a b": "c" } });',
      /no valid response/,
    ],
    ['ends its sandbox', 'export const handler = () => process.exit(3);', /exit code 3/],
    ['cannot be loaded', 'import "no-such-package";', /no-such-package/],
  ])('500 for a function that %s', async (_, source, reason) => {
    const { url, why } = await gatewayTo(source);
    expect(await send(url, '/')).toMatchObject({ status: 500, body: '{"message":"Internal Server Error"}' });
    expect(why[0]).toMatch(reason);
  });

  test('500 at the timeout of the function, which is really stopped, and the next request is answered', async () => {
    const source = 'export const handler = async (event) => { while (event.rawPath === "/spin"); return "well"; };';
    const { url } = await gatewayTo(source, { timeoutSeconds: 0.3 });
    expect(await send(url, '/spin')).toMatchObject({ status: 500 });
    expect(await send(url, '/')).toMatchObject({ status: 200, body: 'well' });
  });

  test('503 when the function takes longer than the integration may', async () => {
    const { url } = await gatewayTo('export const handler = () => new Promise(() => {});', { timeoutMs: 100 });
    expect(await send(url, '/')).toMatchObject({ status: 503, body: '{"message":"Service Unavailable"}' });
  });
});

describe('the answer of a function', () => {
  test('carries status, headers, cookies and a base64 body', async () => {
    const { url } = await gatewayTo(`export const handler = async () => ({
      statusCode: '201', headers: { Location: '/jobs/7', 'X-N': 7 }, cookies: ['a=1', 'b=2'],
      body: Buffer.from('\u00e4').toString('base64'), isBase64Encoded: true });`);
    const answer = await send(url, '/');
    expect(answer).toMatchObject({ status: 201, body: 'ä' });
    expect(answer.headers).toMatchObject({
      location: '/jobs/7',
      'x-n': '7',
      'set-cookie': ['a=1', 'b=2'],
      'content-type': 'text/plain;charset=UTF-8',
    });
    expect(answer.headers['apigw-requestid']).toBeTruthy();
  });

  test.each([
    ['{ ok: true }', '{"ok":true}'],
    ['"plain"', 'plain'],
    ['undefined', 'null'],
    ['[1, 2]', '[1,2]'],
  ])('%s is inferred as a 200 in JSON', async (value, body) => {
    const { url } = await gatewayTo(`export const handler = async () => (${value});`);
    const answer = await send(url, '/');
    expect(answer).toMatchObject({ status: 200, body });
    expect(answer.headers['content-type']).toBe('application/json');
  });

  test('has no body for HEAD', async () => {
    const { url } = await gatewayTo(ECHO);
    const answer = await send(url, '/', { method: 'HEAD' });
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(Number(answer.headers['content-length'])).toBeGreaterThan(0);
  });
});

test('requests before the functions are there wait for them, and a close waits for requests under way', async () => {
  const fn = await functionOf(
    'export const handler = (event) => new Promise((resolve) => setTimeout(resolve, 200, "late"));',
  );
  const sandbox = new ThreadSandbox(fn, () => {});
  onTestFinished(() => sandbox.close());
  const gateway = await openGateway({
    port: 0,
    invoke: (_, event, id) => sandbox.invoke(event, id),
    onAnswer: () => {},
  });
  const answer = send(gateway.url, '/');
  gateway.open([{ ...routeOf('$default', 30_000), fn, guard: { kind: 'none' } }]);
  await expect.poll(() => sandbox.inFlight).toBe(1);
  await gateway.close();
  expect(await answer).toMatchObject({ status: 200, body: 'late' });
  expect((await answer).headers.connection).toBe('close');
  await expect(send(gateway.url, '/')).rejects.toThrow('ECONNREFUSED');
});

test('a taken port is one sentence that says what to do', async () => {
  const { gateway } = await gatewayTo(ECHO);
  const port = Number(new URL(gateway.url).port);
  await expect(
    openGateway({ port, invoke: async () => ({ kind: 'timed out' }), onAnswer: () => {} }),
  ).rejects.toMatchObject({
    code: 'port_taken',
    message: expect.stringContaining(`Port ${port} is taken`),
  });
});
