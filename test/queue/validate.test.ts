import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { isEnvelope } from '../../functions/queue/codec.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { parseRunAt } from '../../functions/queue/run-at.ts';
import { validate } from '../../functions/queue/validate.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const contracts = {
  plain: defineJob({
    payload: z.object({ n: z.coerce.number().transform((n) => n * 2) }),
    queue: 'lane',
    maxAttempts: 3,
  }),
  async: defineJob({ payload: z.string().refine(async (text) => text === 'yes', 'must be yes') }),
  hostile: defineJob({
    payload: z.string().transform((text) => JSON.parse(text)),
  }),
  strict: defineJob({ payload: z.strictObject({ to: z.array(z.object({ 'e/mail': z.email() })) }) }),
  anything: defineJob({ payload: z.unknown() }),
};

const check = (request: unknown, payloadMaxBytes = 1000) => validate(request, contracts, { payloadMaxBytes });
const pointersOf = async (request: unknown) => {
  const validated = await check(request);
  return 'flaws' in validated ? validated.flaws.map(({ pointer }) => pointer) : validated.kind;
};

describe('validate', () => {
  test('keeps the payload as sent, and fills in what the contract says', async () => {
    expect(await check({ kind: 'plain', payload: { n: '7', extra: [] } })).toEqual({
      kind: 'valid',
      job: { kind: 'plain', payload: { n: '7', extra: [] }, queue: 'lane', maxAttempts: 3 },
    });
  });

  test('what the request says comes first', async () => {
    const request = {
      kind: 'plain',
      payload: { n: 1 },
      queue: 'q',
      max_attempts: 9,
      subject: 's',
      priority: -5,
      delay_seconds: 1.5,
      idempotency_key: 'i',
      unique_key: 'u',
      unique_while: 'live',
      replace: ['payload', 'run_at'],
    };
    expect(await check(request)).toMatchObject({
      job: {
        queue: 'q',
        maxAttempts: 9,
        subject: 's',
        priority: -5,
        delaySeconds: 1.5,
        runAt: undefined,
        idempotencyKey: 'i',
        uniqueKey: 'u',
        uniqueWhile: 'live',
        replace: ['payload', 'run_at'],
      },
    });
  });

  test('a payload may be null where the contract takes it, and must be there', async () => {
    expect(await check({ kind: 'anything', payload: null })).toMatchObject({ kind: 'valid' });
    expect(await pointersOf({ kind: 'anything' })).toEqual(['/payload']);
  });

  test('points into the payload, unknown keys and asynchronous rules included', async () => {
    expect(
      await pointersOf({ kind: 'strict', payload: { to: [{ 'e/mail': 'a@b.co' }, { 'e/mail': 'x' }], 'c~c': 1 } }),
    ).toEqual(['/payload/to/1/e~1mail', '/payload/c~0c']);
    expect(await pointersOf({ kind: 'async', payload: 'no' })).toEqual(['/payload']);
    expect(await check({ kind: 'async', payload: 'yes' })).toMatchObject({ kind: 'valid' });
  });

  test('a schema that throws is a flaw of the payload, not an error', async () => {
    expect(await check({ kind: 'hostile', payload: 'nope' })).toEqual({
      kind: 'invalid',
      flaws: [{ pointer: '/payload', detail: expect.stringContaining('threw SyntaxError') }],
    });
  });

  test('an unknown kind is told the known ones, and what else is wrong', async () => {
    const validated = await check({ kind: 'toString', payload: 1, colour: 1 });
    expect(validated).toMatchObject({ kind: 'unknown_kind' });
    expect('flaws' in validated && validated.flaws.map(({ pointer }) => pointer)).toEqual(['/kind', '/colour']);
    expect('flaws' in validated && validated.flaws[0]?.detail).toContain('anything, async, hostile, plain, strict');
  });

  test('of a thousand kinds it lists fifty', async () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`kind.${n}`, contracts.anything]));
    const validated = await validate({ kind: 'x' }, many, { payloadMaxBytes: 10 });
    expect('flaws' in validated && validated.flaws[0]?.detail).toMatch(/… \(1000 in all\)$/);
    expect('flaws' in validated && validated.flaws[0]?.detail.length).toBeLessThan(1000);
  });

  test('measures the payload before anything looks into it', async () => {
    expect(await check({ kind: 'x', payload: 'ü'.repeat(500) })).toEqual({ kind: 'too_large', payloadBytes: 1002 });
    expect(await check({ kind: 'anything', payload: 'x'.repeat(998) })).toMatchObject({ kind: 'valid' });
  });

  test.for([null, 1, 'x', true, [], [{ kind: 'plain' }]])('%j is no request', async (request) => {
    expect(await check(request)).toEqual({
      kind: 'invalid',
      flaws: [{ pointer: '', detail: expect.stringContaining('expected object') }],
    });
  });

  test('says of each field what it must be, in the rest of a sentence', async () => {
    const wrong = {
      queue: 7,
      subject: '',
      priority: 1.5,
      max_attempts: 'x',
      run_at: 7,
      delay_seconds: 1e300,
      idempotency_key: 7,
      unique_key: '',
      unique_while: 'dead',
      replace: 'payload',
    };
    const validated = await check({ kind: 'anything', payload: 1, ...wrong });
    const flaws = 'flaws' in validated ? validated.flaws : [];
    expect(flaws.map(({ pointer }) => pointer).sort()).toEqual(
      Object.keys(wrong)
        .map((field) => `/${field}`)
        .sort(),
    );
    for (const { detail } of flaws) expect(detail).toMatch(/^must (be|have|match) /);
    expect(await check({ kind: 'anything', payload: 1, unique_key: 'u', replace: ['kind'] })).toMatchObject({
      flaws: [{ pointer: '/replace/0', detail: 'must be payload or run_at' }],
    });
  });

  test('counts characters of a subject as Postgres does', async ({ db }) => {
    const subject = '\u{1F680}'.repeat(255);
    expect(await check({ kind: 'anything', payload: 1, subject })).toMatchObject({ kind: 'valid' });
    expect(await pointersOf({ kind: 'anything', payload: 1, subject: `${subject}x` })).toEqual(['/subject']);
    expect((await db.query('SELECT char_length($1) AS n', [subject])).rows).toEqual([{ n: 255 }]);
  });
});

describe('parseRunAt', () => {
  const NOW = Date.parse('2026-01-01T00:00:00Z');
  test.for([
    ['2026-01-31T08:00:00Z', '2026-01-31T08:00:00.000000Z'],
    ['2026-01-31t08:00:00z', '2026-01-31T08:00:00.000000Z'],
    ['2026-01-31 08:00:00+01:00', '2026-01-31T07:00:00.000000Z'],
    ['2026-01-31T08:00:00.1-00:30', '2026-01-31T08:30:00.100000Z'],
    ['2026-01-31T08:00:00.1234567899Z', '2026-01-31T08:00:00.123456Z'],
    ['2028-02-29T00:00:00+23:59', '2028-02-28T00:01:00.000000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000000Z'],
  ])('%s is %s', async ([text = '', runAt = ''], { db }) => {
    expect(parseRunAt(text, NOW)).toEqual({ runAt });
    const { rows } = await db.query(
      `SELECT to_char($1::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS t`,
      [runAt],
    );
    expect(rows).toEqual([{ t: runAt }]);
  });

  test.for([
    ['2026-02-29T00:00:00Z', 'RFC 3339'],
    ['2026-13-01T00:00:00Z', 'RFC 3339'],
    ['2026-01-01T24:00:00Z', 'RFC 3339'],
    ['2026-01-01T23:59:60Z', 'RFC 3339'],
    ['2026-01-01T00:00:00', 'RFC 3339'],
    ['2026-01-01T00:00:00+0100', 'RFC 3339'],
    ['2026-01-01T00:00:00+24:00', 'RFC 3339'],
    [' 2026-01-01T00:00:00Z', 'RFC 3339'],
    ['2026-01-01T00:00:00Z\n', 'RFC 3339'],
    ['infinity', 'RFC 3339'],
    ['now', 'RFC 3339'],
    ['1970-01-01T00:00:00+00:01', 'between'],
    ['0001-01-01T00:00:00Z', 'between'],
    ['2036-01-01T00:00:00Z', 'between'],
  ])('refuses %j', ([text = '', says]) => {
    expect(parseRunAt(text, NOW)).toEqual({ flaw: expect.stringContaining(says as string) });
  });
});

describe('a kind that has changed', () => {
  const changed = {
    'mail.send': defineJob({
      payload: z.object({ to: z.array(z.string()) }),
      queue: 'mail',
      aliases: ['mail'],
      upcast: (payload) => {
        const mail = payload as { to: unknown };
        // In place, as code may do it.
        if (!Array.isArray(mail.to)) mail.to = [mail.to];
        return mail;
      },
    }),
  };
  const send = (request: unknown) => validate(request, changed, { payloadMaxBytes: 1000 });

  test('is taken by its old name and in its old shape, and stored as sent', async () => {
    expect(await send({ kind: 'mail', payload: { to: 'ann' } })).toMatchObject({
      kind: 'valid',
      job: { kind: 'mail', queue: 'mail', payload: { to: 'ann' } },
    });
  });

  test('what upcast cannot read, or makes wrong, is a flaw of the payload', async () => {
    const thrown = { pointer: '/payload', detail: 'cannot be read by the upcast of its kind, which threw TypeError' };
    expect(await send({ kind: 'mail.send', payload: null })).toEqual({ kind: 'invalid', flaws: [thrown] });
    expect(await send({ kind: 'mail', payload: { to: 7 } })).toMatchObject({ flaws: [{ pointer: '/payload/to/0' }] });
  });

  test('an upcast that is asynchronous is one, and its rejection takes nothing with it', async () => {
    const upcast = async () => Promise.reject(new Error('nobody looks'));
    const contracts = { late: defineJob({ payload: z.looseObject({}), upcast }) };
    expect(await validate({ kind: 'late', payload: {} }, contracts, { payloadMaxBytes: 1000 })).toEqual({
      kind: 'invalid',
      flaws: [{ pointer: '/payload', detail: 'cannot be read by the upcast of its kind, which threw TypeError' }],
    });
  });

  test('another name is told both', async () => {
    expect(await send({ kind: 'post', payload: {} })).toMatchObject({
      flaws: [{ pointer: '/kind', detail: 'is not a known kind; known kinds: mail.send (alias mail)' }],
    });
  });
});

describe('a kind with a codec', () => {
  const sealed = { letter: defineJob({ payload: z.looseObject({}), codec: aesGcm(() => 'A'.repeat(43)) }) };
  const send = (payload: unknown, payloadMaxBytes = 1000) =>
    validate({ kind: 'letter', payload }, sealed, { payloadMaxBytes });

  test('is stored in an envelope; what counts is what was sent', async () => {
    const validated = await send({ text: 'x'.repeat(300) }, 311);
    expect(validated.kind === 'valid' && isEnvelope(validated.job.payload)).toBe(true);
    expect(await send({ text: 'x'.repeat(301) }, 311)).toEqual({ kind: 'too_large', payloadBytes: 312 });
  });

  test('does not take what is sealed already', async () => {
    const flaws = [{ pointer: '/payload', detail: 'is or holds a sealed value: send it in clear' }];
    expect(await send({ $sealed: { kind: 'letter', data: 'AAAA' } })).toEqual({ kind: 'invalid', flaws });
  });

  test('nor a death that holds it: only the burying statement puts that in', async () => {
    const payload = z.looseObject({});
    const contracts = { letter: defineJob({ payload, onDead: 'mourn' }), mourn: defineJob({ payload }) };
    const put = (given: unknown, kind = 'mourn') =>
      validate({ kind, payload: given }, contracts, { payloadMaxBytes: 1000 });
    const envelope = { $sealed: { kind: 'letter', data: 'AAAA' } };
    const flaws = [{ pointer: '/payload', detail: 'is or holds a sealed value: send it in clear' }];
    expect(await put({ payload: envelope })).toEqual({ kind: 'invalid', flaws });
    expect(await put({ error: { message: 'sealed', sealed: envelope } })).toEqual({ kind: 'invalid', flaws });
    expect(await put({ payload: { $sealed: 'no envelope' }, error: null })).toMatchObject({ kind: 'valid' });
    expect(await put({ payload: envelope }, 'letter')).toMatchObject({ kind: 'valid' });
  });
});
