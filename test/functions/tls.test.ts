import { readFileSync } from 'node:fs';
import { connect as connectTcp, createServer } from 'node:net';
import { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { connector } from '../../functions/lambda/connect.ts';
import { isLoopback, tlsFor } from '../../functions/lambda/tls.ts';
import { test as base, describe, expect } from '../support/fixtures.ts';

const file = (name: string) => fileURLToPath(new URL(`certificates/${name}.pem`, import.meta.url));
const CA = file('ca');

/** `secured`: takes connections as a Postgres with this certificate does, and passes them to the real one. Resolves its port. */
const test = base.extend('secured', async ({ databaseUrl }, { onCleanup }) => {
  const target = new URL(databaseUrl);
  const servers: ReturnType<typeof createServer>[] = [];
  onCleanup(() => {
    for (const server of servers) server.close();
  });
  return async (certificate: string) => {
    const pem = readFileSync(file(certificate), 'utf8');
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        // What came is the SSLRequest; 'S' says yes, and all that follows is TLS.
        socket.write('S');
        const tls = new TLSSocket(socket, { isServer: true, key: pem, cert: pem });
        const upstream = connectTcp(Number(target.port), target.hostname);
        tls.on('error', () => upstream.destroy());
        tls.on('close', () => upstream.destroy());
        upstream.on('error', () => tls.destroy());
        tls.pipe(upstream).pipe(tls);
      });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as { port: number }).port;
  };
});

function at(databaseUrl: string, host: string, port: number | string, query = ''): string {
  const { username, password, pathname } = new URL(databaseUrl);
  return `postgres://${username}:${password}@${host}:${port}${pathname}${query}`;
}

/** One statement on a connection of its own. */
async function ask(url: string, caFile?: string): Promise<unknown> {
  const connection = await connector({ DATABASE_URL: url, DATABASE_CA_FILE: caFile }, 'test')();
  try {
    return (await connection.query('SELECT 1 AS one')).rows[0]?.one;
  } finally {
    await connection.end();
  }
}

describe('TLS to the database', () => {
  test('trusts the given authority, by name and by address', async ({ secured, databaseUrl }) => {
    const port = await secured('this-machine');
    for (const host of ['localhost', '127.0.0.1']) {
      expect(await ask(at(databaseUrl, host, port, '?sslmode=verify-full'), CA), host).toBe(1);
    }
  });

  test.for(['require', 'verify-ca', 'verify-full'])(
    'sslmode=%s trusts no other',
    async (mode, { secured, databaseUrl }) => {
      const port = await secured('this-machine');
      await expect(ask(at(databaseUrl, 'localhost', port, `?sslmode=${mode}`))).rejects.toMatchObject({
        code: expect.stringMatching(
          /^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)$/,
        ),
      });
    },
  );

  test.for(['localhost', '127.0.0.1'])(
    'refuses a certificate for another name than %s',
    async (host, { secured, databaseUrl }) => {
      const port = await secured('elsewhere');
      await expect(ask(at(databaseUrl, host, port, '?sslmode=require'), CA)).rejects.toMatchObject({
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
    },
  );

  test('an address is not taken for the name localhost', async ({ secured, databaseUrl }) => {
    const port = await secured('by-name');
    expect(await ask(at(databaseUrl, 'localhost', port, '?sslmode=require'), CA)).toBe(1);
    await expect(ask(at(databaseUrl, '127.0.0.1', port, '?sslmode=require'), CA)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  // 127.1 is another way to write 127.0.0.1, which the system understands and our rule for loopback does not: a stand-in
  // for a host elsewhere, whose server offers no TLS.
  test.for([
    '',
    '?sslmode=disable',
    '?sslmode=no-verify',
    '?sslmode=prefer',
    '?ssl=false',
    '?ssl=0',
    '?uselibpqcompat=true&sslmode=require',
  ])('outside loopback, %j in the URL does not do without', async (query, { databaseUrl, secured }) => {
    const plain = at(databaseUrl, '127.1', new URL(databaseUrl).port, query);
    await expect(ask(plain, CA)).rejects.toThrow('does not support SSL');
    const elsewhere = at(databaseUrl, '127.1', await secured('elsewhere'), query);
    await expect(ask(elsewhere, CA)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  test('a host in the query counts, as it does for pg', async ({ databaseUrl }) => {
    const url = `${at(databaseUrl, 'localhost', new URL(databaseUrl).port)}?host=127.1`;
    await expect(ask(url)).rejects.toThrow('does not support SSL');
  });

  test('PGSSLMODE and NODE_TLS_REJECT_UNAUTHORIZED change nothing', async ({ secured, databaseUrl }) => {
    const port = await secured('elsewhere');
    Object.assign(process.env, { PGSSLMODE: 'no-verify', NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    try {
      await expect(ask(at(databaseUrl, '127.1', port), CA)).rejects.toMatchObject({
        code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      });
    } finally {
      delete process.env.PGSSLMODE;
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });

  test('on loopback there is none unless asked for', async ({ databaseUrl }) => {
    expect(await ask(databaseUrl, CA)).toBe(1);
    expect(await ask(`${databaseUrl}?sslmode=disable`)).toBe(1);
    await expect(ask(`${databaseUrl}?sslmode=require`)).rejects.toThrow('does not support SSL');
  });
});

describe('tlsFor', () => {
  test('knows loopback', () => {
    for (const host of ['localhost', '127.0.0.1', '127.8.9.1', '::1', '/var/run/postgresql'])
      expect(isLoopback(host), host).toBe(true);
    for (const host of [
      'db.example.com',
      '10.0.0.1',
      'localhost.example.com',
      '127.0.0.1.example.com',
      '0.0.0.0',
      '',
      '::',
    ]) {
      expect(isLoopback(host), host).toBe(false);
    }
  });

  test('says what is wrong with the file of authorities', () => {
    expect(() => tlsFor('db.example.com', { caFile: '/nowhere/ca.pem' })).toThrow('/nowhere/ca.pem cannot be read');
    expect(() => tlsFor('db.example.com', { caFile: import.meta.filename })).toThrow('holds no PEM');
  });

  test('finds the file beside the bundle', () => {
    process.env.LAMBDA_TASK_ROOT = fileURLToPath(new URL('certificates', import.meta.url));
    try {
      expect(tlsFor('db.example.com', { caFile: 'ca.pem' })).toMatchObject({
        rejectUnauthorized: true,
        ca: readFileSync(CA, 'utf8'),
      });
    } finally {
      delete process.env.LAMBDA_TASK_ROOT;
    }
  });
});
