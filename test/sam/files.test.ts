import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer, type TLSSocket, connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeCertificates } from '../../local/sam/certificates.ts';
import { windowsLine } from '../../local/sam/command.ts';
import { prepareFiles } from '../../local/sam/files.ts';
import { temporaryDirectory } from '../local/bundle.ts';

describe('certificates', () => {
  test('an authority that signed one server, and can sign no other', () => {
    const made = makeCertificates(['postgres', 'localhost', '127.0.0.1'], 10);
    const [authority, server] = [new X509Certificate(made.ca), new X509Certificate(made.certificate)];
    expect([authority.ca, server.ca]).toEqual([true, false]);
    expect(server.checkIssued(authority)).toBe(true);
    expect(server.verify(authority.publicKey)).toBe(true);
    expect(server.subjectAltName).toBe('DNS:postgres, DNS:localhost, IP Address:127.0.0.1');
    const days = (Date.parse(server.validTo) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(9.9);
    expect(days).toBeLessThan(10);
    expect(made.key).not.toContain(authority.publicKey.export({ type: 'spki', format: 'pem' }));
    expect(server.publicKey.equals(authority.publicKey)).toBe(false);
  });

  test('serial numbers and lengths of every size stay valid', () => {
    for (let names = 1; names <= 12; names++) {
      const made = makeCertificates(Array.from({ length: names * names }, (_, n) => `host-${n}.example.org`));
      expect(new X509Certificate(made.certificate).checkHost(`host-${names * names - 1}.example.org`)).toBeDefined();
    }
  });

  test('are taken for their names and for no others', async () => {
    const made = makeCertificates(['localhost', '127.0.0.1']);
    const other = makeCertificates(['localhost', '127.0.0.1']);
    const server = createServer({ cert: made.certificate, key: made.key }, (socket) => socket.end()).listen(
      0,
      '127.0.0.1',
    );
    server.on('tlsClientError', () => {});
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const connect = async (ca: string, servername: string) => {
      const socket: TLSSocket = tlsConnect({ host: '127.0.0.1', port, ca, servername });
      await once(socket, 'secureConnect').finally(() => socket.destroy());
    };
    await connect(made.ca, 'localhost');
    await expect(connect(made.ca, 'elsewhere')).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    await expect(connect(other.ca, 'localhost')).rejects.toMatchObject({ code: expect.stringMatching(/CERT|VERIFY/) });
  });
});

describe('what is kept', () => {
  test('stays as it is, and the key and the password are not for others', async () => {
    const directory = await temporaryDirectory();
    const first = await prepareFiles(directory);
    expect(first.renewed).toBe(true);
    for (const name of ['password', 'postgres/server.key', 'tokens.json']) {
      expect((await stat(join(directory, name))).mode & 0o077, name).toBe(0);
    }
    expect(await prepareFiles(directory)).toEqual({ ...first, renewed: false });
  });

  test('a certificate that ends within 30 days, or is none, is made again', async () => {
    const directory = await temporaryDirectory();
    const { ca } = await prepareFiles(directory);
    for (const text of [makeCertificates(['localhost'], 29).certificate, 'nonsense']) {
      await writeFile(join(directory, 'postgres/server.crt'), text);
      expect((await prepareFiles(directory)).renewed).toBe(true);
    }
    const server = new X509Certificate(await readFile(join(directory, 'postgres/server.crt')));
    expect(server.verify(new X509Certificate(await readFile(ca)).publicKey)).toBe(true);
  });
});

test('a command line for Windows quotes paths with spaces', () => {
  expect(windowsLine('sam', ['local', 'start-api', '--template', 'C:\\Own files\\template.json'])).toBe(
    'sam local start-api --template "C:\\Own files\\template.json"',
  );
});
