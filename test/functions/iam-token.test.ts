import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { connector } from '../../functions/lambda/connect.ts';
import { Database } from '../../functions/lambda/database.ts';
import { type DatabaseEnv, databaseEnv, readEnv } from '../../functions/lambda/env.ts';
import { bundled } from '../support/bundled.ts';
import { test as base, describe, expect, vi } from '../support/fixtures.ts';
import { startIamGate } from '../support/iam-gate.ts';
import { httpEvent } from './api.ts';

const CA = fileURLToPath(new URL('certificates/ca.pem', import.meta.url));

/** `iam`: a login of this file's database that takes IAM tokens, and a function's role with credentials. */
const test = base.extend('iam', async ({ databaseUrl, db }, { onCleanup }) => {
  const user = `iam_${Math.random().toString(36).slice(2)}`;
  await db.query(`CREATE ROLE ${user} LOGIN PASSWORD 'of the gate'`);
  const keys = new Map([
    ['AKIDFIRST', 'first/secret+'],
    ['AKIDSECOND', 'second/secret+'],
  ]);
  const urlOf = (name: string) => Object.assign(new URL(databaseUrl), { username: name, password: 'of the gate' }).href;
  const start = (certificate: string) => startIamGate({ urlOf, keys, certificate });
  const gate = await start('this-machine');
  const credentials = (id: string, more: Record<string, string> = {}) => {
    const all = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: keys.get(id) ?? 'of nobody', ...more };
    for (const name of ['AWS_SESSION_TOKEN', 'AWS_CREDENTIAL_EXPIRATION']) vi.stubEnv(name, undefined);
    for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  };
  credentials('AKIDFIRST');
  const env: DatabaseEnv = {
    DATABASE_USER: user,
    DATABASE_HOST: 'localhost',
    DATABASE_PORT: gate.port,
    DATABASE_NAME: new URL(databaseUrl).pathname.slice(1),
    DATABASE_CA_FILE: CA,
    AWS_REGION: 'eu-central-1',
  };
  onCleanup(async () => {
    vi.unstubAllEnvs();
    await gate.close();
    await db.query(`DROP ROLE ${user}`);
  });
  return { user, gate, start, env, credentials, keys };
});

const ask = async (env: DatabaseEnv) => {
  const connection = await connector(env, 'test')();
  try {
    return (await connection.query('SELECT current_user AS name')).rows[0]?.name;
  } finally {
    await connection.end();
  }
};

describe('an IAM login', () => {
  test('sends a token that AWS would take: for this server and user, good for 15 minutes', async ({ iam }) => {
    expect(await ask(iam.env)).toBe(iam.user);
    const [token = ''] = iam.gate.tokens;
    expect(token.startsWith(`localhost:${iam.gate.port}/?Action=connect&DBUser=${iam.user}&`)).toBe(true);
    expect(Object.fromEntries(new URL(`https://${token}`).searchParams)).toEqual({
      Action: 'connect',
      DBUser: iam.user,
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': expect.stringMatching(/^AKIDFIRST\/\d{8}\/eu-central-1\/rds-db\/aws4_request$/),
      'X-Amz-Date': expect.stringMatching(/^\d{8}T\d{6}Z$/),
      'X-Amz-Expires': '900',
      'X-Amz-SignedHeaders': 'host',
      'X-Amz-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('of a role whose credentials carry a session token, as in Lambda: a long password', async ({ iam }) => {
    const session = randomBytes(1200).toString('base64');
    iam.credentials('AKIDFIRST', { AWS_SESSION_TOKEN: session });
    expect(await ask(iam.env)).toBe(iam.user);
    expect(new URL(`https://${iam.gate.tokens[0]}`).searchParams.get('X-Amz-Security-Token')).toBe(session);
  });

  test('signs one for each connection, and with new credentials once the old ones have expired', async ({ iam }) => {
    const past = new Date(Date.now() - 1000).toISOString();
    iam.credentials('AKIDFIRST', { AWS_CREDENTIAL_EXPIRATION: past });
    const database = new Database(iam.env, 'test');
    const name = async () => (await database.query<{ name: string }>('SELECT current_user AS name')).rows[0]?.name;
    expect([await name(), await name()]).toEqual([iam.user, iam.user]);
    iam.credentials('AKIDSECOND', { AWS_CREDENTIAL_EXPIRATION: past });
    iam.keys.delete('AKIDFIRST');
    database.reset();
    expect(await name()).toBe(iam.user);
    await database.end();
    expect(iam.gate.tokens.map((token) => /AKID[A-Z]+/.exec(token)?.[0])).toEqual(['AKIDFIRST', 'AKIDSECOND']);
  });

  test('in a bundle, as a producer: enqueues a job and may do no more', async ({ iam, db }) => {
    await db.query(`GRANT millrace_producer TO ${iam.user}`);
    const functions = await bundled(['enqueue', 'manage']);
    const environment = Object.entries({
      ...iam.env,
      AWS_ACCESS_KEY_ID: 'AKIDFIRST',
      AWS_SECRET_ACCESS_KEY: 'first/secret+',
    });
    const variables = Object.fromEntries(environment.map(([name, value]) => [name, String(value)]));
    const answer = async (handler: string, event: object) => {
      const ending = await functions.start(handler, variables).invoke(event, 'a-request');
      return ending.kind === 'returned' ? JSON.parse(ending.json).statusCode : ending;
    };
    const body = { kind: 'hello.greet', payload: { name: 'Ada' } };
    expect(await answer('enqueue', httpEvent('POST', '/jobs', { body }))).toBe(201);
    expect(await answer('manage', httpEvent('POST', '/queues/default/pause'))).toBe(500);
    expect(functions.lines.join('')).not.toContain('X-Amz');
    await functions.close();
  });

  test('that is refused, as with credentials that have expired: says what to look at, and shows no token', async ({
    iam,
  }) => {
    iam.keys.clear();
    const refused = await ask(iam.env).catch((error: Error) => error);
    expect(refused).toMatchObject({
      name: 'IamLoginRefusedError',
      code: 'iam_login_refused',
      cause: { code: '28000' },
      message: expect.stringMatching(
        new RegExp(`refused the IAM token of ${iam.user} \\(PAM.*rds_iam.*rds-db:connect.*have not expired`),
      ),
    });
    expect(iam.gate.tokens).toHaveLength(1);
    expect(`${(refused as Error).stack} ${JSON.stringify(refused)}`).not.toMatch(/X-Amz|AKID/);
    const database = new Database(iam.env, 'test');
    await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'database_unavailable' });
  });

  test('without any credentials says so', async ({ iam }) => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
    vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
    await expect(ask(iam.env)).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringContaining(`no IAM token can be signed for ${iam.user}: Could not load credentials`),
    });
  });
});

describe('no token is sent', () => {
  test('to a server with another name, or of an unknown authority', async ({ iam }) => {
    const elsewhere = await iam.start('elsewhere');
    await expect(ask({ ...iam.env, DATABASE_PORT: elsewhere.port })).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    await expect(ask({ ...iam.env, DATABASE_CA_FILE: undefined })).rejects.toThrow(/certificate/);
    expect([...elsewhere.tokens, ...iam.gate.tokens]).toEqual([]);
    await elsewhere.close();
  });

  test('without TLS, on loopback neither', async ({ iam, databaseUrl }) => {
    const { port } = new URL(databaseUrl);
    await expect(ask({ ...iam.env, DATABASE_PORT: Number(port) })).rejects.toThrow('does not support SSL');
  });
});

describe('the environment', () => {
  const named = { DATABASE_USER: 'millrace_worker', DATABASE_HOST: 'db.example.com', AWS_REGION: 'us-east-1' };
  const none = 'set DATABASE_URL, or DATABASE_SECRET_ARN, or DATABASE_USER and DATABASE_HOST';

  test.for([
    [{}, none],
    [{ DATABASE_USER: 'x' }, `${none}; DATABASE_USER needs AWS_REGION, the region of the database`],
    [{ DATABASE_HOST: 'x', DATABASE_PORT: '1', DATABASE_NAME: 'x' }, none],
    [{ ...named, AWS_REGION: '' }, 'DATABASE_USER needs AWS_REGION, the region of the database'],
    [{ ...named, DATABASE_PORT: 'five' }, 'DATABASE_PORT: must be a port'],
  ])('%j is refused with a sentence', ([env, says]) => {
    expect(() => readEnv(databaseEnv, env as NodeJS.ProcessEnv)).toThrow(new RegExp(`^environment: ${says}$`));
  });

  test.for([
    { DATABASE_URL: 'postgres://x' },
    { DATABASE_SECRET_ARN: 'arn' },
    { DATABASE_SECRET_ARN: 'arn', DATABASE_HOST: 'x' },
    named,
    { ...named, DATABASE_PORT: '' },
  ])('%j is enough', (env) => {
    expect(() => readEnv(databaseEnv, env as NodeJS.ProcessEnv)).not.toThrow();
  });
});
