import { randomBytes } from 'node:crypto';
import { vi } from 'vitest';
import { PermanentError } from '../../functions/queue/errors.ts';
import { runOn } from '../lifecycle/ground.ts';
import { liveRowOf, rowOf } from '../support/factories.ts';
import { afterEach } from '../support/fixtures.ts';
import { startSecretsManager } from '../support/secrets-manager.ts';
import { describe, expect, expectProblem, test } from './api.ts';
import { contracts } from './sealed-contracts.ts';

vi.mock('#contracts', () => import('./sealed-contracts.ts'));

const SECRET = 'the secret';
const KEYS = randomBytes(32).toString('base64');
const LETTER = { kind: 'letter', payload: { text: SECRET, b: 1, a: [1] } };
const envelope = (kind = 'letter') => ({ $sealed: { kind, data: expect.any(String) } });

afterEach(() => vi.unstubAllEnvs());
const withKeys = (keys: string) => vi.stubEnv('TEST_JOB_KEYS', keys);

/** Works the queue off: letters that ask for it fail with the secret in message and stack, the others answer with it. */
function workOff(databaseUrl: string) {
  const letter = ({ text, fails }: Record<string, unknown>) => {
    if (fails) throw new PermanentError(`no such address: ${text}`);
    return { said: text };
  };
  return runOn(databaseUrl, { contracts, processors: { letter, card: () => 1 } });
}

describe('POST /jobs of a kind with a codec', () => {
  test('stores an envelope, also by an alias and in a batch', async ({ call, db }) => {
    withKeys(KEYS);
    const one = await call('POST', '/jobs', { body: LETTER, as: 'producer' });
    const alias = await call('POST', '/jobs', { body: { ...LETTER, kind: 'post' }, as: 'producer' });
    const batch = await call('POST', '/jobs/batch', { body: { jobs: [LETTER, { kind: 'card', payload: {} }] } });
    expect([one.status, alias.status, batch.status]).toEqual([201, 201, 201]);
    expect((await rowOf(db, one.body.id))?.payload).toEqual(envelope());
    expect((await rowOf(db, alias.body.id))?.payload).toEqual(envelope('post'));
    expect((await rowOf(db, batch.body.jobs[0].id))?.payload).toEqual(envelope());
    expect((await rowOf(db, batch.body.jobs[1].id))?.payload).toEqual({});
  });

  test('an idempotency key knows the same payload again', async ({ call }) => {
    withKeys(KEYS);
    const first = await call('POST', '/jobs', { body: { ...LETTER, idempotency_key: 'k' } });
    const payload = { b: 1, a: [1], text: SECRET };
    const again = await call('POST', '/jobs', { body: { kind: 'letter', payload, idempotency_key: 'k' } });
    expect(again).toMatchObject({ status: 200, body: { id: first.body.id, outcome: 'replayed' } });
    const other = { kind: 'letter', payload: { text: 'other' }, idempotency_key: 'k' };
    expectProblem(await call('POST', '/jobs', { body: other }), 422, 'idempotency-key-reused');
  });

  test('takes the largest payload there is', async ({ call, db }) => {
    withKeys(KEYS);
    const payload = { text: 'x'.repeat(262_144 - 11) };
    const { status, body } = await call('POST', '/jobs', { body: { kind: 'letter', payload } });
    expect(status).toBe(201);
    expect((await liveRowOf(db, body.id))?.payload_bytes).toBeGreaterThan(262_144);
    expect((await call('GET', `/jobs/${body.id}?include=payload`)).body.payload).toEqual(payload);
  });

  test('without a key nothing is stored, and the answer says what is missing', async ({ call, db }) => {
    withKeys('');
    for (const [route, body] of [
      ['/jobs', LETTER],
      ['/jobs/batch', { jobs: [{ kind: 'card', payload: {} }, LETTER] }],
    ] as const) {
      const answer = await call('POST', route, { body, as: 'producer' });
      expectProblem(answer, 500, 'internal-error');
      expect(answer.body.detail).toBe(
        'A payload could not be sealed, so nothing was stored: the codec of "letter" failed: aesGcm was given no key: set the variable that it reads where this runs.',
      );
    }
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(0);
  });

  test('does not take what is sealed already', async ({ call }) => {
    withKeys(KEYS);
    const payload = { $sealed: { kind: 'letter', data: 'AAAA' } };
    expectProblem(await call('POST', '/jobs', { body: { kind: 'letter', payload } }), 422, 'invalid-job');
  });

  test('keys come from Secrets Manager', async ({ call }) => {
    const manager = await startSecretsManager();
    const settings = {
      CONTRACT_SECRETS: JSON.stringify({ TEST_JOB_KEYS: manager.create(KEYS) }),
      ...manager.environment,
    };
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
    withKeys('');
    const { status, body } = await call('POST', '/jobs', { body: LETTER });
    expect(status).toBe(201);
    expect((await call('GET', `/jobs/${body.id}?include=payload`)).body.payload).toEqual(LETTER.payload);
    // Read once for five minutes, whoever asks.
    expect(manager.asked).toHaveLength(1);
    await manager.close();
  });
});

describe('GET of a job whose kind has a codec', () => {
  test('opens payload, result and errors for who may see them', async ({ call, db, databaseUrl }) => {
    withKeys(KEYS);
    const done = (await call('POST', '/jobs', { body: LETTER })).body.id;
    const died = (await call('POST', '/jobs', { body: { kind: 'post', payload: { text: SECRET, fails: true } } })).body
      .id;
    expect(await workOff(databaseUrl)).toMatchObject({ completed: 1, buried: 1 });
    expect(JSON.stringify([await rowOf(db, done), await rowOf(db, died)])).not.toContain(SECRET);

    const read = await call('GET', `/jobs/${done}?include=payload,result`, { as: 'reader' });
    expect(read.body).toMatchObject({ payload: LETTER.payload, result: { said: SECRET } });
    const [error] = (await call('GET', `/jobs/${died}`, { as: 'reader' })).body.errors;
    expect(error).toMatchObject({ attempt: 1, name: 'PermanentError', message: `no such address: ${SECRET}` });
    expect(error.stack).toMatch(/^ {4}at /);
    const { jobs } = (await call('GET', '/jobs?status=dead', { as: 'operator' })).body;
    expect(jobs[0].last_error).toMatchObject({ message: `no such address: ${SECRET}` });
    expect(jobs[0].last_error).not.toHaveProperty('stack');
  });

  test('for a producer an error says that it is sealed', async ({ call, databaseUrl }) => {
    withKeys(KEYS);
    const body = { kind: 'letter', payload: { text: SECRET, fails: true }, idempotency_key: 'k' };
    const { id } = (await call('POST', '/jobs', { body })).body;
    await workOff(databaseUrl);
    const as = 'producer';
    const one = await call('GET', `/jobs/${id}`, { as });
    const again = await call('POST', '/jobs', { body, as });
    expect(again.status).toBe(200);
    for (const { errors } of [one.body, again.body]) {
      expect(errors).toEqual([
        {
          attempt: 1,
          started_at: expect.any(String),
          failed_at: expect.any(String),
          where: expect.any(String),
          name: 'PermanentError',
          message: 'sealed',
        },
      ]);
    }
    expect((await call('GET', '/jobs', { as })).body.jobs[0].last_error).toMatchObject({ message: 'sealed' });
  });

  test('without the key, or the kind, everything is answered as it is stored', async ({ call, db, databaseUrl }) => {
    withKeys(KEYS);
    const { id } = (await call('POST', '/jobs', { body: { ...LETTER, payload: { text: SECRET, fails: true } } })).body;
    await workOff(databaseUrl);
    withKeys(randomBytes(32).toString('base64'));
    const include = `/jobs/${id}?include=payload,result`;
    expect(await call('GET', include)).toMatchObject({
      status: 200,
      body: { payload: envelope(), result: null, errors: [{ name: 'PermanentError', message: 'sealed' }] },
    });
    expect((await call('GET', '/jobs')).body.jobs[0].last_error.message).toBe('sealed');
    withKeys(KEYS);
    await db.query(`UPDATE millrace.dead_jobs SET payload = jsonb_set(payload, '{$sealed,kind}', '"gone"')`);
    expect(await call('GET', include)).toMatchObject({ status: 200, body: { payload: envelope('gone') } });
  });
});

// From here on modules are loaded anew.
test('what lies in the clear is answered though no contract can be loaded; what does not, as it is stored', async ({
  call,
}) => {
  withKeys(KEYS);
  const card = (await call('POST', '/jobs', { body: { kind: 'card', payload: { n: 1 } } })).body.id;
  const letter = (await call('POST', '/jobs', { body: LETTER })).body.id;
  vi.doMock('#contracts', () => {
    throw new Error('not today');
  });
  vi.resetModules();
  expect(await call('GET', `/jobs/${card}?include=payload`)).toMatchObject({
    status: 200,
    body: { payload: { n: 1 } },
  });
  expect(await call('GET', `/jobs/${letter}?include=payload`)).toMatchObject({
    status: 200,
    body: { payload: envelope() },
  });
  expect(await call('GET', '/jobs')).toMatchObject({ status: 200 });
  vi.doMock('#contracts', () => import('./sealed-contracts.ts'));
});

test('Secrets Manager is asked only for what is sealed', async ({ call }) => {
  const manager = await startSecretsManager();
  withKeys(KEYS);
  const { id } = (await call('POST', '/jobs', { body: { kind: 'card', payload: { n: 1 } } })).body;
  vi.stubEnv('CONTRACT_SECRETS', JSON.stringify({ TEST_JOB_KEYS: 'arn:of:none' }));
  for (const [name, value] of Object.entries(manager.environment)) vi.stubEnv(name, value);
  vi.resetModules();
  expect(await call('GET', `/jobs/${id}?include=payload`)).toMatchObject({ status: 200, body: { payload: { n: 1 } } });
  expect(manager.asked).toEqual([]);
  await manager.close();
});

// The last one: settings are read once for a module's life, and this one wants others.
test('a payload that may have 4 MiB, and has more once it is sealed, is refused with 413', async ({ call }) => {
  withKeys(KEYS);
  vi.stubEnv('PAYLOAD_MAX_BYTES', String(4 * 1024 * 1024));
  vi.resetModules();
  const job = { kind: 'letter', payload: { text: 'x'.repeat(3_500_000) } };
  expectProblem(await call('POST', '/jobs', { body: job }), 413, 'too-large');
  expectProblem(await call('POST', '/jobs/batch', { body: { jobs: [job] } }), 413, 'too-large');
});
