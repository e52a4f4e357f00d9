import { createServer } from 'node:http';
import { withSecret } from '../../functions/lambda/connect.ts';
import { Database } from '../../functions/lambda/database.ts';
import { secretReader } from '../../functions/lambda/secret.ts';
import { test as base, beforeEach, describe, expect } from '../support/fixtures.ts';

const ARN = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:millrace';

/** `manager`: a server that speaks as Secrets Manager does, on loopback; what it holds by stage, and what it was asked. */
const test = base.extend('manager', async ({ databaseUrl }, { onCleanup }) => {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const right = {
    engine: 'postgres',
    host: hostname,
    port: Number(port),
    username,
    password,
    dbname: pathname.slice(1),
  };
  const secrets: Record<string, unknown> = { AWSCURRENT: right };
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { SecretId, VersionStage } = JSON.parse(String(Buffer.concat(chunks)));
      asked.push(VersionStage);
      const held = secrets[VersionStage];
      response.setHeader('content-type', 'application/x-amz-json-1.1');
      if (
        request.headers['x-amz-target'] !== 'secretsmanager.GetSecretValue' ||
        SecretId !== ARN ||
        held === undefined
      ) {
        response.statusCode = 400;
        return response.end(JSON.stringify({ __type: 'ResourceNotFoundException', message: `no ${VersionStage}` }));
      }
      const SecretString = typeof held === 'string' ? held : JSON.stringify(held);
      response.end(JSON.stringify({ ARN, Name: 'millrace', SecretString, VersionStages: [VersionStage] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  process.env.AWS_ENDPOINT_URL = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return { secrets, asked, right, wrong: { ...right, password: 'rotated away' } };
});

beforeEach(() => {
  Object.assign(process.env, { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' });
});

const user = async (database: Database) => (await database.query<{ u: string }>('SELECT current_user AS u')).rows[0]?.u;

describe('credentials from a secret', () => {
  test('are read at the first statement and kept', async ({ manager }) => {
    const database = new Database({ DATABASE_SECRET_ARN: ARN }, 'test');
    expect(manager.asked).toEqual([]);
    expect(await user(database)).toBe(manager.right.username);
    database.reset();
    expect(await user(database)).toBe(manager.right.username);
    expect(manager.asked).toEqual(['AWSCURRENT']);
    await database.end();
  });

  test('are read again when they were rotated', async ({ manager, db }) => {
    const username = `rotated_${Math.random().toString(36).slice(2)}`;
    await db.query(`CREATE ROLE ${username} LOGIN PASSWORD 'one'`);
    const database = new Database({ DATABASE_SECRET_ARN: ARN }, 'test');
    manager.secrets.AWSCURRENT = { ...manager.right, username, password: 'one' };
    expect(await user(database)).toBe(username);
    await db.query(`ALTER ROLE ${username} PASSWORD 'two'`);
    manager.secrets.AWSCURRENT = { ...manager.right, username, password: 'two' };
    expect(await user(database), 'an open connection stays').toBe(username);
    expect(manager.asked).toEqual(['AWSCURRENT']);
    database.reset();
    expect(await user(database)).toBe(username);
    expect(manager.asked).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    await database.end();
    await db.query(`DROP ROLE ${username}`);
  });

  test('in the middle of a rotation are the pending ones, and those are kept', async ({ manager }) => {
    const database = new Database({ DATABASE_SECRET_ARN: ARN }, 'test');
    manager.secrets.AWSCURRENT = manager.wrong;
    manager.secrets.AWSPENDING = manager.right;
    await user(database);
    expect(manager.asked).toEqual(['AWSCURRENT', 'AWSCURRENT', 'AWSPENDING']);
    database.reset();
    await user(database);
    expect(manager.asked).toHaveLength(3);
    await database.end();
  });

  test('that stay wrong: current, current, pending, a pause, current, and then what the server said', async ({
    manager,
  }) => {
    const database = new Database({ DATABASE_SECRET_ARN: ARN }, 'test');
    manager.secrets.AWSCURRENT = manager.wrong;
    const began = performance.now();
    await expect(user(database)).rejects.toMatchObject({ code: '28P01' });
    expect(manager.asked).toEqual(['AWSCURRENT', 'AWSCURRENT', 'AWSPENDING', 'AWSCURRENT']);
    expect(performance.now() - began).toBeGreaterThan(1900);
    manager.secrets.AWSCURRENT = manager.right;
    expect(await user(database)).toBe(manager.right.username);
    await database.end();
  });

  test.for([
    ['not JSON', 'does not hold JSON'],
    [{ username: 'u' }, 'host, password'],
  ])('%j: the error says what is missing and shows nothing', async ([held, says], { manager }) => {
    manager.secrets.AWSCURRENT = held;
    const database = new Database({ DATABASE_SECRET_ARN: ARN }, 'test');
    await expect(user(database)).rejects.toThrow(new RegExp(`${ARN}.*${says}`));
  });

  test('a secret that is not there is an outage', async ({ manager }) => {
    delete manager.secrets.AWSCURRENT;
    const database = new Database({ DATABASE_SECRET_ARN: ARN }, 'test');
    await expect(user(database)).rejects.toMatchObject({
      code: 'database_unavailable',
      cause: { name: 'ResourceNotFoundException' },
    });
  });
});

test('only a refused login is a reason to ask again', async ({ manager }) => {
  const connect = withSecret(secretReader(ARN), async () => {
    throw Object.assign(new Error('too many'), { code: '53300', severity: 'FATAL' });
  });
  await expect(connect()).rejects.toMatchObject({ code: '53300' });
  expect(manager.asked).toEqual(['AWSCURRENT']);
});
