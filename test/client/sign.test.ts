import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, test } from 'vitest';
import { Client } from '../../client/index.ts';
import { all, hangUp, ID, job, json, problem, serve } from './server.ts';
import { expectedSignature, signatureOf } from './sigv4.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'not a secret', sessionToken: 'session' };
const signer = new SignatureV4({ service: 'execute-api', region: 'eu-west-1', credentials, sha256: Sha256 });

async function sign(request: Request): Promise<Request> {
  const { protocol, hostname, host, pathname: path, searchParams } = new URL(request.url);
  const { method } = request;
  const body = await request.text();
  const query = Object.fromEntries(searchParams);
  const headers = { ...Object.fromEntries(request.headers), host };
  const signed = await signer.sign({ method, protocol, hostname, path, query, headers, body });
  return new Request(request.url, { method, headers: signed.headers, body: body || null });
}

describe('sign', () => {
  test('makes requests that AWS would accept: of every method, with odd characters in path and query', async () => {
    const server = await serve((response, seen) => {
      if (seen.method === 'DELETE') response.writeHead(204).end();
      else if (seen.target.startsWith('/prod/kinds')) json(200, { kind: 'a', paused: true })(response, seen);
      else if (seen.method === 'GET') json(200, { jobs: [], next_cursor: null })(response, seen);
      else json(201, { ...job(), outcome: 'created' })(response, seen);
    });
    const client = new Client({ url: `${server.url}/prod`, sign });
    await client.enqueue('hello.greet', { name: 'Åda 😀' }, { traceparent: '00-1-2-01' });
    await client.erase(ID);
    await client.pause({ kind: 'a:b' });
    await all(client.list({ subject: "a b+c/d&e=(f)*'!~ü", status: 'dead', limit: 2 }));
    expect(server.seen).toHaveLength(4);
    for (const seen of server.seen) {
      expect(signatureOf(seen)).toBe(expectedSignature(seen, credentials.secretAccessKey));
      expect(seen.headers['x-amz-security-token']).toBe('session');
      // And the check itself would tell a request that was changed on its way.
      const changed = { ...seen, text: `${seen.text} ` };
      expect(signatureOf(seen)).not.toBe(expectedSignature(changed, credentials.secretAccessKey));
    }
  });

  test('signs each try anew: a signature ages', async () => {
    const server = await serve(hangUp, problem(503, 'timeout', {}, { 'retry-after': '0' }), json(200, job()));
    let tries = 0;
    const client = new Client({
      url: server.url,
      sign: (request) => {
        request.headers.set('x-signed', String(++tries));
        return request;
      },
    });
    await client.get(ID);
    expect(server.seen.map(({ headers }) => headers['x-signed'])).toEqual(['1', '2', '3']);
  });

  test('sees all that is sent, the token too', async () => {
    const server = await serve(json(200, { ...job(), outcome: 'created' }));
    let text = '';
    const client = new Client({
      url: server.url,
      token: 'mlr_test',
      sign: async (request) => {
        text = await request.clone().text();
        expect(request.headers.get('authorization')).toBe('Bearer mlr_test');
        expect(request.headers.get('x-request-id')).toHaveLength(36);
        return request;
      },
    });
    await client.enqueue('hello.greet', { name: 'Ada' });
    expect(server.seen[0]?.text).toBe(text);
  });
});
