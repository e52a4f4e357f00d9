import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../../local/sam/certificates.ts';
import { examined } from './doctor-ground.ts';

const HERE = ['localhost', '127.0.0.1'];

describe('the certificate of an API', () => {
  test('is trusted for as long as it says', async () => {
    const { of } = await examined({ url: (await serve(HERE, { days: 365 })).url, token: 'mlr_secret' });
    expect(of.tls).toEqual({ verdict: 'ok', found: 'TLSv1.3, the certificate is trusted for 364 more days' });
    expect(of.health?.verdict).toBe('ok');
  });

  test('is to be renewed in its last days', async () => {
    const { of } = await examined({ url: (await serve(HERE, { days: 10 })).url, token: 'mlr_secret' });
    expect(of.tls).toMatchObject({ verdict: 'warning', found: expect.stringContaining('9 more days') });
  });

  test.for([
    ['has expired', HERE, { days: 0.01 }, 'it has expired'],
    ['is of another name', ['elsewhere.example.com'], {}, 'it is of another name'],
    ['is signed by somebody unknown', HERE, { trusted: false }, 'its authority is not known here'],
  ] as const)('that %s gets no token', async ([, names, options, found]) => {
    const { url, requests } = await serve(names, options);
    const { of, bad, code } = await examined({ url, token: 'mlr_secret' });
    expect(of.tls).toMatchObject({ verdict: 'failed', found: `the certificate is not trusted: ${found}` });
    expect([bad, code, requests()]).toEqual([['tls', 'health'], 4, 0]);
  });

  test('is missed where there is none', async () => {
    const server = createHttpServer((_request, response) => response.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { of, code } = await examined({ url: urlOf(server), token: 'mlr_secret' });
    expect(of.tls).toMatchObject({ verdict: 'failed', found: 'what answers there speaks no TLS that is in use' });
    expect(code).toBe(4);
  });
});

/** Something that answers as `/health` does and has a certificate for these names, good from an hour ago on. */
async function serve(names: readonly string[], { days = 30, trusted = true }: { days?: number; trusted?: boolean }) {
  const { ca, certificate, key } = makeCertificates(names, days);
  if (trusted) {
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, ca]);
    onTestFinished(() => setDefaultCACertificates(before));
  }
  let requests = 0;
  const server = createServer({ cert: certificate, key }, (_request, response) => {
    requests++;
    response.end('{"status":"ok"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: urlOf(server), requests: () => requests };
}

function urlOf(server: { address(): unknown }): string {
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
