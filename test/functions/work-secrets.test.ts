import { handler } from '../../functions/work/handler.ts';
import { until } from '../lifecycle/ground.ts';
import { pendingJob, rowOf } from '../support/factories.ts';
import { test as base, beforeEach, describe, expect, vi } from '../support/fixtures.ts';
import { startSecretsManager } from '../support/secrets-manager.ts';
import { context } from './api.ts';
import { written } from './emf.ts';

/** `secrets`: Secrets Manager, and the ARNs of what two variables are filled from. */
const test = base
  .extend('secrets', async ({ databaseUrl }, { onCleanup }) => {
    const manager = await startSecretsManager();
    const [stripe, openai] = [manager.create('sk_1'), manager.create('ok_1')];
    const environment = {
      DATABASE_URL: databaseUrl,
      WORKER_PICKUP: 'minute',
      LOG_LEVEL: 'warn',
      WORKER_SECRETS: JSON.stringify({ STRIPE_KEY: stripe, OPENAI_KEY: openai }),
      STRIPE_KEY: '',
      OPENAI_KEY: '',
      ...manager.environment,
    };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    onCleanup(async () => {
      vi.unstubAllEnvs();
      await manager.close();
    });
    return { manager, stripe, openai };
  })
  .extend('work', async ({ secrets }) => {
    expect(secrets.manager.asked).toEqual([]);
    // A sandbox of its own, which has read nothing yet.
    vi.resetModules();
    const fresh = await import('../../functions/work/handler.ts');
    return () => fresh.handler({ slot: 0 }, context(60_000));
  });

beforeEach(() => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});

describe('secrets of processors', () => {
  test('are in process.env, each read once for five minutes, then again', async ({ secrets, work }) => {
    const now = vi.spyOn(Date, 'now');
    const at = Date.now();
    const workedAt = async (ms: number) => {
      now.mockReturnValue(at + ms);
      await work();
      return [process.env.STRIPE_KEY, process.env.OPENAI_KEY];
    };
    try {
      expect(await workedAt(0)).toEqual(['sk_1', 'ok_1']);
      expect(secrets.manager.asked).toHaveLength(2);
      secrets.manager.put(secrets.stripe, 'sk_2');
      expect(await workedAt(299_999)).toEqual(['sk_1', 'ok_1']);
      expect(await workedAt(300_000)).toEqual(['sk_2', 'ok_1']);
      expect(secrets.manager.asked).toHaveLength(4);
    } finally {
      now.mockRestore();
    }
  });

  test('are all asked for before the first is answered', async ({ secrets: { manager }, work }) => {
    manager.mode = 'hang';
    const working = work();
    await until(() => manager.asked.length === 2);
    // Both questions are put again once their time is up.
    manager.mode = 'pass';
    expect(await working).toMatchObject({ reason: 'emptied' });
    expect([process.env.STRIPE_KEY, process.env.OPENAI_KEY]).toEqual(['sk_1', 'ok_1']);
  });

  test('that cannot be read: the run fails before it claims, and says of which variable', async ({
    secrets: { stripe, openai },
    work,
    db,
  }) => {
    const { id } = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    vi.stubEnv('WORKER_SECRETS', JSON.stringify({ STRIPE_KEY: stripe, OPENAI_KEY: `${openai}-gone` }));
    await expect(work()).rejects.toMatchObject({
      name: 'SecretUnreadableError',
      code: 'secret_unreadable',
      message: expect.stringMatching(/^the secret for OPENAI_KEY cannot be read: ResourceNotFoundException: \S/),
    });
    expect(await rowOf(db, id)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(JSON.stringify(written())).not.toContain('sk_1');
    vi.stubEnv('WORKER_SECRETS', JSON.stringify({ STRIPE_KEY: stripe, OPENAI_KEY: openai }));
    expect(await work()).toMatchObject({ completed: 1 });
  });

  test('that cannot be read again keep their values, and the log says so', async ({ secrets, work, db }) => {
    await work();
    await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' } });
    secrets.manager.remove(secrets.stripe);
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 600_000);
    try {
      expect(await work()).toMatchObject({ completed: 1 });
    } finally {
      now.mockRestore();
    }
    expect(process.env.STRIPE_KEY).toBe('sk_1');
    expect(written()).toContainEqual(expect.objectContaining({ level: 'warn', variable: 'STRIPE_KEY' }));
  });

  test('that Secrets Manager is slow to give again cost a run two seconds, which leave its longest kind time', async ({
    secrets: { manager },
    work,
  }) => {
    await work();
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 600_000);
    manager.mode = 'hang';
    const began = performance.now();
    try {
      expect(await work()).toMatchObject({ reason: 'emptied' });
    } finally {
      now.mockRestore();
    }
    expect(performance.now() - began).toBeLessThan(5000);
    expect([process.env.STRIPE_KEY, process.env.OPENAI_KEY]).toEqual(['sk_1', 'ok_1']);
    expect(written()).toContainEqual(
      expect.objectContaining({
        variable: 'OPENAI_KEY',
        error: expect.objectContaining({ message: 'Secrets Manager did not answer within 2000 ms' }),
      }),
    );
  });

  test('with a NUL character, after which nothing would be seen, are not read', async ({
    secrets: { manager, stripe },
    work,
  }) => {
    manager.put(stripe, 'sk_1\0sk_2');
    await expect(work()).rejects.toMatchObject({
      name: 'SecretUnreadableError',
      message: expect.stringMatching(/^the secret for STRIPE_KEY .* holds a NUL character/),
    });
    expect(process.env.STRIPE_KEY).toBe('');
  });

  test('reach processors whole, however long and in whatever script', async ({
    secrets: { manager, stripe },
    work,
  }) => {
    const text = `${'-----BEGIN KEY-----\n'.repeat(3000)}Straße 東京 🔑\r\n\t"'`;
    manager.put(stripe, text);
    await work();
    expect(process.env.STRIPE_KEY).toBe(text);
  });

  test.for([['no JSON'], ['{"STRIPE_KEY": 7}'], ['{"STRIPE_KEY": ""}']])(
    'must be named in JSON, not %s',
    async ([value], { databaseUrl }) => {
      vi.stubEnv('DATABASE_URL', databaseUrl);
      vi.stubEnv('WORKER_SECRETS', value);
      await expect(handler({ slot: 0 }, context())).rejects.toThrow(
        'environment: WORKER_SECRETS: must be JSON such as {"STRIPE_KEY": "arn:aws:secretsmanager:…"}',
      );
      vi.unstubAllEnvs();
    },
  );
});
