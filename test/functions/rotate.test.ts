import type pg from 'pg';
import { handler } from '../../functions/rotate/handler.ts';
import { freePort } from '../../local/postgres/server.ts';
import { openClient } from '../support/database.ts';
import { test as base, describe, expect, vi } from '../support/fixtures.ts';
import { startSecretsManager } from '../support/secrets-manager.ts';

const FIRST = 'first-password';
const STEPS = ['createSecret', 'setSecret', 'testSecret', 'finishSecret'] as const;
type Step = (typeof STEPS)[number];

/** `rotation`: a login whose password is `FIRST`, the secret that says so, and the function that rotates it. */
const test = base.extend('rotation', async ({ databaseUrl, db }, { onCleanup }) => {
  const { hostname, port, pathname } = new URL(databaseUrl);
  const username = `login_${Math.random().toString(36).slice(2)}`;
  await db.query(`CREATE ROLE ${username} LOGIN PASSWORD '${FIRST}'`);
  const manager = await startSecretsManager();
  const arn = manager.create({ username, password: FIRST, engine: 'postgres' });
  const env = { LOGIN_SECRET_ARN: arn, DATABASE_HOST: hostname, DATABASE_PORT: port, DATABASE_NAME: pathname.slice(1) };
  Object.assign(process.env, manager.environment, env);
  const output: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => output.push(String(line)) > 0);
  onCleanup(async () => {
    await manager.close();
    vi.restoreAllMocks();
    await db.query(`DROP ROLE ${username}`);
  });
  const url = new URL(databaseUrl);
  url.username = username;
  /** What the log and errors have said. */
  const said = () => output.join('');
  return {
    manager,
    arn,
    username,
    url: databaseUrl,
    said,
    step: async (step: Step, token: string, SecretId = arn) => {
      try {
        await handler({ Step: step, SecretId, ClientRequestToken: token, RotationToken: 'none' });
      } catch (error) {
        output.push(`${(error as Error).stack} ${JSON.stringify(error)}`);
        throw error;
      }
    },
    /** Whether the database takes that password. */
    takes: async (password: unknown) => {
      url.password = String(password);
      const client = await openClient(url.href).catch(({ code }) => code);
      if (client === '28P01') return false;
      await client.end();
      return true;
    },
  };
});

test('four steps: the login has a new password, and the secret says it', async ({ rotation }) => {
  const { manager, arn, username, step, takes } = rotation;
  const token = manager.startRotation(arn);
  for (const name of STEPS) await step(name, token);
  const current = manager.value(arn);
  expect(current).toEqual({ username, password: expect.stringMatching(/^[\w-]{43}$/), engine: 'postgres' });
  expect(manager.versionOf(arn, 'AWSCURRENT')).toBe(token);
  expect(manager.value(arn, 'AWSPREVIOUS')).toMatchObject({ password: FIRST });
  expect([await takes(current?.password), await takes(FIRST)]).toEqual([true, false]);
});

test('each rotation makes another password, and no password is ever said', async ({ rotation }) => {
  const { manager, arn, step, said } = rotation;
  const passwords = new Set<unknown>();
  for (let round = 0; round < 3; round++) {
    const token = manager.startRotation(arn);
    await expect(step('finishSecret', token)).rejects.toThrow('createSecret');
    await step('createSecret', token);
    await expect(step('testSecret', token)).rejects.toThrow('setSecret');
    for (const name of STEPS) await step(name, token);
    passwords.add(manager.value(arn)?.password);
  }
  expect(passwords.size).toBe(3);
  expect(said()).toContain('rotation.stepped');
  for (const password of [FIRST, ...passwords]) expect(said()).not.toContain(password);
});

describe('repeated', () => {
  test('each step at once and again, then all after the end: the same as once', async ({ rotation }) => {
    const { manager, arn, step, takes } = rotation;
    const token = manager.startRotation(arn);
    const seen = new Set<unknown>();
    for (const name of STEPS) {
      const both = await Promise.allSettled([step(name, token), step(name, token)]);
      expect(both.map(({ status }) => status)).toContain('fulfilled');
      await step(name, token);
      seen.add(manager.value(arn, 'AWSPENDING')?.password);
    }
    expect(seen.size).toBe(1);
    const before = manager.asked.length;
    for (const name of STEPS) await step(name, token);
    expect(manager.asked.slice(before)).toEqual(STEPS.map(() => 'DescribeSecret'));
    expect(manager.versionOf(arn, 'AWSCURRENT')).toBe(token);
    expect(await takes(manager.value(arn)?.password)).toBe(true);
  });

  test('from the beginning after every step: an attempt that ended there is taken up', async ({ rotation }) => {
    const { manager, arn, step, takes } = rotation;
    for (const [reached] of STEPS.entries()) {
      const token = manager.startRotation(arn);
      for (const name of STEPS.slice(0, reached + 1)) await step(name, token);
      for (const name of STEPS) await step(name, token);
      expect(manager.versionOf(arn, 'AWSCURRENT')).toBe(token);
      expect(await takes(manager.value(arn)?.password)).toBe(true);
    }
  });

  test('after it was called off with its password set: the next rotation finds that password', async ({ rotation }) => {
    const { manager, arn, step, takes } = rotation;
    const lost = manager.startRotation(arn);
    for (const name of STEPS.slice(0, 2)) await step(name, lost);
    const set = manager.value(arn, 'AWSPENDING')?.password;
    manager.callOffRotation(arn);
    expect([await takes(set), await takes(manager.value(arn)?.password)]).toEqual([true, false]);
    const token = manager.startRotation(arn);
    for (const name of STEPS) await step(name, token);
    expect(await takes(manager.value(arn)?.password)).toBe(true);
  });

  test('after Secrets Manager throttled it', async ({ rotation }) => {
    const { manager, arn, step, takes } = rotation;
    const token = manager.startRotation(arn);
    for (const name of STEPS) {
      manager.mode = { throttle: 3 };
      await expect(step(name, token)).rejects.toMatchObject({ name: 'ThrottlingException' });
      manager.mode = { throttle: 1 };
      await step(name, token);
    }
    expect(await takes(manager.value(arn)?.password)).toBe(true);
  });
});

describe('a step that had to wait', () => {
  /** Begins a step, and lets `meanwhile` happen while it waits for the lock that it shares with deploys. */
  async function whileItWaits(db: pg.Pool, step: () => Promise<void>, meanwhile: () => unknown): Promise<unknown> {
    const holder = await db.connect();
    try {
      await holder.query('BEGIN');
      await holder.query('SELECT pg_advisory_xact_lock(7236834, 2)');
      const ended = step().then(
        () => 'done',
        ({ message }: Error) => message,
      );
      const waiting = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 2 AND NOT granted
                       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      await expect.poll(async () => (await db.query(waiting)).rowCount).toBe(1);
      await meanwhile();
      await holder.query('COMMIT');
      return await ended;
    } finally {
      holder.release();
    }
  }

  test('sets no password of a rotation that was called off meanwhile', async ({ rotation, db }) => {
    const { manager, arn, step, takes } = rotation;
    const token = manager.startRotation(arn);
    await step('createSecret', token);
    const ended = await whileItWaits(
      db,
      () => step('setSecret', token),
      () => manager.callOffRotation(arn),
    );
    expect(ended).toContain('called off');
    expect(await takes(FIRST)).toBe(true);
  });

  test('makes no password current that a deploy has replaced meanwhile', async ({ rotation, db }) => {
    const { manager, arn, username, step, takes } = rotation;
    const token = manager.startRotation(arn);
    for (const name of STEPS.slice(0, 3)) await step(name, token);
    const ended = await whileItWaits(
      db,
      () => step('finishSecret', token),
      () => db.query(`ALTER ROLE ${username} PASSWORD '${FIRST}'`),
    );
    expect(ended).toContain('refuses the pending password');
    expect(manager.value(arn)?.password).toBe(FIRST);
    expect(await takes(FIRST)).toBe(true);
  });
});

describe('out of order', () => {
  test.for([
    ['setSecret', [], /holds no password yet: createSecret/],
    ['testSecret', ['createSecret'], /refuses the pending password of login_\w+: setSecret/],
    ['finishSecret', ['createSecret'], /refuses the pending password of login_\w+: setSecret/],
  ] as const)(
    '%s after %j says what has to come first, and changes nothing',
    async ([name, before, says], { rotation }) => {
      const { manager, arn, step, takes } = rotation;
      const token = manager.startRotation(arn);
      for (const earlier of before) await step(earlier, token);
      await expect(step(name, token)).rejects.toThrow(says);
      expect(manager.value(arn)?.password).toBe(FIRST);
      expect(await takes(FIRST)).toBe(true);
    },
  );
});

describe('the login’s password is', () => {
  test('the previous one, as after a restore of the database: found', async ({ rotation, db }) => {
    const { manager, arn, username, step, takes } = rotation;
    const first = manager.startRotation(arn);
    for (const name of STEPS) await step(name, first);
    await db.query(`ALTER ROLE ${username} PASSWORD '${FIRST}'`);
    const second = manager.startRotation(arn);
    for (const name of STEPS) await step(name, second);
    expect(await takes(manager.value(arn)?.password)).toBe(true);
  });

  test('one that the secret never had: an error that says what to do, and nothing has changed', async ({
    rotation,
    db,
  }) => {
    const { manager, arn, username, step, takes } = rotation;
    await db.query(`ALTER ROLE ${username} PASSWORD 'set by hand'`);
    const token = manager.startRotation(arn);
    await step('createSecret', token);
    await expect(step('setSecret', token)).rejects.toThrow(/every password .* run the migration once more/);
    await expect(step('finishSecret', token)).rejects.toThrow('setSecret has to come first');
    expect(manager.value(arn)?.password).toBe(FIRST);
    expect(await takes('set by hand')).toBe(true);
    await db.query(`ALTER ROLE ${username} PASSWORD '${FIRST}'`);
    for (const name of STEPS) await step(name, token);
    expect(await takes(manager.value(arn)?.password)).toBe(true);
  });
});

describe('refused is', () => {
  test('another secret, before anything is asked of it', async ({ rotation }) => {
    const { manager, step, arn } = rotation;
    const other = manager.create({ username: 'postgres', password: 'x' });
    const token = manager.startRotation(other);
    await expect(step('createSecret', token, other)).rejects.toThrow(`rotates the secret ${arn}, and not ${other}`);
    expect(manager.asked).toEqual([]);
  });

  test('a version that is not the pending one', async ({ rotation }) => {
    const { manager, step, arn } = rotation;
    for (const token of ['made-up', manager.put(arn, { username: 'x', password: 'y' }, 'MINE')]) {
      for (const name of STEPS) await expect(step(name, token)).rejects.toThrow('not the pending one');
    }
  });

  test.for([
    ['another login', { username: 'another' }],
    ['another server', { port: '5433' }],
  ] as const)(
    'the rest of a rotation of a secret that names %s since: its end would undo that',
    async ([, change], { rotation }) => {
      const { manager, arn, step, username } = rotation;
      // What the environment names wins over the secret.
      delete process.env.DATABASE_PORT;
      manager.put(arn, { username, password: FIRST, port: new URL(rotation.url).port });
      const token = manager.startRotation(arn);
      await step('createSecret', token);
      manager.put(arn, { ...manager.value(arn), ...change });
      for (const name of STEPS.slice(1)) await expect(step(name, token)).rejects.toThrow(/take AWSPENDING off/);
      expect(manager.value(arn)).toMatchObject(change);
      expect(await rotation.takes(FIRST)).toBe(true);
    },
  );

  test('a secret whose current version is none of ours: nothing of it becomes the next', async ({ rotation }) => {
    const { manager, step, arn } = rotation;
    manager.put(arn, { password: 'alone' });
    const token = manager.startRotation(arn);
    await expect(step('createSecret', token)).rejects.toThrow('look at username');
    expect(manager.value(arn, 'AWSPENDING')).toBeUndefined();
  });
});

test('a database that is down is no reason to try other passwords', async ({ rotation }) => {
  const { manager, step, arn } = rotation;
  const token = manager.startRotation(arn);
  await step('createSecret', token);
  process.env.DATABASE_PORT = String(await freePort());
  for (const name of STEPS.slice(1)) await expect(step(name, token)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(manager.value(arn)?.password).toBe(FIRST);
});

test('Secrets Manager’s own try, a pending version equal to the current one, passes', async ({ rotation }) => {
  const { manager, step, arn } = rotation;
  await step('testSecret', manager.put(arn, manager.value(arn), 'AWSPENDING'));
});
