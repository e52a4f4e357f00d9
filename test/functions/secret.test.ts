import { Database } from '../../functions/lambda/database.ts';
import type { DatabasePlace } from '../../functions/lambda/env.ts';
import { secretReader } from '../../functions/lambda/secret.ts';
import { withSecret } from '../../functions/lambda/with-secret.ts';
import { test as base, describe, expect } from '../support/fixtures.ts';
import { startSecretsManager } from '../support/secrets-manager.ts';

/** `manager`: Secrets Manager, with the right credentials of this file's database, and wrong ones. */
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
  const manager = await startSecretsManager();
  onCleanup(() => manager.close());
  Object.assign(process.env, manager.environment);
  const arn = manager.create(right);
  const asked = () => manager.asked.map((one) => one.replace('GetSecretValue ', ''));
  return Object.assign(manager, { arn, right, wrong: { ...right, password: 'rotated away' }, stages: asked });
});

const user = async (database: Database) => (await database.query<{ u: string }>('SELECT current_user AS u')).rows[0]?.u;

describe('credentials from a secret', () => {
  test('are read at the first statement and kept', async ({ manager }) => {
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    expect(manager.stages()).toEqual([]);
    expect(await user(database)).toBe(manager.right.username);
    database.reset();
    expect(await user(database)).toBe(manager.right.username);
    expect(manager.stages()).toEqual(['AWSCURRENT']);
    await database.end();
  });

  test('are read again when they were rotated', async ({ manager, db }) => {
    const username = `rotated_${Math.random().toString(36).slice(2)}`;
    await db.query(`CREATE ROLE ${username} LOGIN PASSWORD 'one'`);
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    manager.put(manager.arn, { ...manager.right, username, password: 'one' });
    expect(await user(database)).toBe(username);
    await db.query(`ALTER ROLE ${username} PASSWORD 'two'`);
    manager.put(manager.arn, { ...manager.right, username, password: 'two' });
    expect(await user(database), 'an open connection stays').toBe(username);
    expect(manager.stages()).toEqual(['AWSCURRENT']);
    database.reset();
    expect(await user(database)).toBe(username);
    expect(manager.stages()).toEqual(['AWSCURRENT', 'AWSCURRENT']);
    await database.end();
    await db.query(`DROP ROLE ${username}`);
  });

  test('in the middle of a rotation are the pending ones, and those are kept', async ({ manager }) => {
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    manager.put(manager.arn, manager.wrong);
    manager.put(manager.arn, manager.right, 'AWSPENDING');
    await user(database);
    expect(manager.stages()).toEqual(['AWSCURRENT', 'AWSCURRENT', 'AWSPENDING']);
    database.reset();
    await user(database);
    expect(manager.stages()).toHaveLength(3);
    await database.end();
  });

  test('that stay wrong: current, current, pending, a pause, current, and then what the server said', async ({
    manager,
  }) => {
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    manager.put(manager.arn, manager.wrong);
    const began = performance.now();
    await expect(user(database)).rejects.toMatchObject({ code: '28P01' });
    expect(manager.stages()).toEqual(['AWSCURRENT', 'AWSCURRENT', 'AWSPENDING', 'AWSCURRENT']);
    expect(performance.now() - began).toBeGreaterThan(1900);
    manager.put(manager.arn, manager.right);
    expect(await user(database)).toBe(manager.right.username);
    await database.end();
  });

  test.for([
    ['not JSON', 'does not hold JSON'],
    [null, 'host, username, password'],
    [{ username: 'u' }, 'host, password'],
    [{ username: 'u', password: 'p', host: 'h', port: 70_000 }, 'port'],
  ])('%j: the error says what is missing and shows nothing', async ([held, says], { manager }) => {
    manager.put(manager.arn, held);
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    await expect(user(database)).rejects.toThrow(new RegExp(`${manager.arn}.*${says}`));
  });

  test('without a place, as RDS makes them, go to that of the environment, which also wins over theirs', async ({
    manager,
  }) => {
    const { host, port, dbname, username, password } = manager.right;
    const place: DatabasePlace = { DATABASE_HOST: host, DATABASE_PORT: port, DATABASE_NAME: dbname };
    for (const held of [
      { username, password },
      { username, password, host: 'elsewhere.invalid', port: 1, dbname: 'none' },
    ]) {
      manager.put(manager.arn, held);
      const database = new Database({ DATABASE_SECRET_ARN: manager.arn, ...place }, 'test');
      const { rows } = await database.query('SELECT current_database() AS name, inet_server_port() AS port');
      expect(rows).toEqual([{ name: dbname, port }]);
      await database.end();
    }
  });
});

describe('Secrets Manager', () => {
  test('that has no such secret, or one that was deleted, is an outage that says why', async ({ manager }) => {
    const missing = new Database({ DATABASE_SECRET_ARN: `${manager.arn}x` }, 'test');
    await expect(user(missing)).rejects.toMatchObject({
      code: 'database_unavailable',
      cause: { name: 'ResourceNotFoundException' },
    });
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    expect(await user(database)).toBe(manager.right.username);
    manager.remove(manager.arn);
    database.reset();
    expect(await user(database), 'what is known goes on working').toBe(manager.right.username);
    await database.end();
    const fresh = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    await expect(user(fresh)).rejects.toMatchObject({
      code: 'database_unavailable',
      cause: { name: 'InvalidRequestException', message: expect.stringContaining('marked for deletion') },
    });
  });

  test('that throttles is asked again, three times in all', async ({ manager }) => {
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    manager.mode = { throttle: 2 };
    expect(await user(database)).toBe(manager.right.username);
    expect(manager.stages()).toEqual(['AWSCURRENT', 'AWSCURRENT', 'AWSCURRENT']);
    await database.end();
    manager.mode = { throttle: 3 };
    const fresh = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    await expect(user(fresh)).rejects.toMatchObject({
      code: 'database_unavailable',
      cause: { name: 'ThrottlingException' },
    });
    manager.mode = 'pass';
    expect(await user(fresh)).toBe(manager.right.username);
    await fresh.end();
  });

  test('that hangs is given up: each request after 3 s, the statement after 10 s', async ({ manager }) => {
    manager.mode = 'hang';
    const began = performance.now();
    const read = secretReader(manager.arn)('AWSCURRENT');
    const database = new Database({ DATABASE_SECRET_ARN: manager.arn }, 'test');
    await Promise.all([
      expect(read).rejects.toMatchObject({ name: 'TimeoutError' }),
      expect(user(database)).rejects.toMatchObject({ code: 'database_unavailable' }),
    ]);
    expect(performance.now() - began).toBeGreaterThan(8900);
    expect(performance.now() - began).toBeLessThan(13_000);
    expect(manager.stages()).toHaveLength(6);
    manager.mode = 'pass';
    expect(await user(database)).toBe(manager.right.username);
    await database.end();
  });
});

test('only a refused login is a reason to ask again', async ({ manager }) => {
  const connect = withSecret(secretReader(manager.arn), async () => {
    throw Object.assign(new Error('too many'), { code: '53300', severity: 'FATAL' });
  });
  await expect(connect()).rejects.toMatchObject({ code: '53300' });
  expect(manager.stages()).toEqual(['AWSCURRENT']);
});
