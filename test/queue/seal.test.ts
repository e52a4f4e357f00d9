import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { attemptError } from '../../functions/queue/attempt-error.ts';
import { applied, type Codec, CodecError, isEnvelope } from '../../functions/queue/codec.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Outcome } from '../../functions/queue/outcome.ts';
import { sealOutcome, sealPayload, sealResult } from '../../functions/queue/seal.ts';
import { unseal, unsealText, unsealWith } from '../../functions/queue/unseal.ts';

const SECRET = 'the secret';
const key = randomBytes(32).toString('base64');
const contracts = {
  sealed: defineJob({ payload: z.unknown(), codec: aesGcm(() => key), aliases: ['old'] }),
  plain: defineJob({ payload: z.unknown() }),
};
const { sealed, plain } = contracts;
const broken = (thrown: unknown): { codec: Codec } => {
  const fail = () => {
    throw thrown;
  };
  return { codec: { encode: fail, decode: fail } };
};
const job = { kind: 'sealed', attempts: 3 };

function failure(message = SECRET, stack = 'at somewhere'): Outcome & { kind: 'failed' } {
  const times = { started_at: '2026-01-01T00:00:00.000Z', failed_at: '2026-01-01T00:00:01.000Z' };
  const error = { attempt: 3, ...times, where: 'host:1', name: 'TypeError', message, stack };
  return { kind: 'failed', error, permanent: false, retryAfterSeconds: 7 };
}

describe('what is sealed', () => {
  test('a payload and a result, each as a whole', async () => {
    for (const seal of [sealPayload, sealResult]) {
      const stored = await seal(sealed, 'sealed', { text: SECRET, n: [1, null] });
      expect(stored).toEqual({ $sealed: { kind: 'sealed', data: expect.stringMatching(/^[A-Za-z0-9+/=]+$/) } });
      expect(JSON.stringify(stored)).not.toContain(SECRET);
      expect(await unseal(contracts, stored)).toEqual({ text: SECRET, n: [1, null] });
      expect(await seal(plain, 'plain', { text: SECRET })).toEqual({ text: SECRET });
    }
    expect(await sealResult(sealed, 'sealed', null)).toBeNull();
  });

  test('equal payloads are equal, whatever order their keys came in', async () => {
    const one = await sealPayload(sealed, 'sealed', { a: { x: 1, y: [{ p: 1, q: 2 }] }, b: 2 });
    expect(await sealPayload(sealed, 'sealed', { b: 2, a: { y: [{ q: 2, p: 1 }], x: 1 } })).toEqual(one);
    expect(await sealPayload(sealed, 'sealed', { a: { x: 1, y: [{ p: 2, q: 1 }] }, b: 2 })).not.toEqual(one);
  });

  test('of an error message and stack; what and when and where stays legible', async () => {
    const outcome = (await sealOutcome(failure(), job, sealed)) as Outcome & { kind: 'failed' };
    const { message: _, stack, ...legible } = failure().error;
    expect(outcome).toMatchObject({ permanent: false, retryAfterSeconds: 7 });
    expect(outcome.error).toEqual({ ...legible, message: 'sealed', sealed: { $sealed: expect.anything() } });
    expect(JSON.stringify(outcome)).not.toContain(SECRET);
    expect(JSON.stringify(outcome)).not.toContain(stack);
    expect(await unseal(contracts, [outcome.error])).toEqual([failure().error]);
  });

  test('however long the error, what is kept of it has at most 4 KB', async () => {
    const at = { attempt: 1, startedAt: new Date(), failedAt: new Date(), where: 'w'.repeat(300) };
    const long = Object.assign(new Error('m"'.repeat(5000)), { name: 'N'.repeat(300) });
    long.stack = `Error\n    at ${'s\n'.repeat(9000)}`;
    const outcome = { ...failure(), error: attemptError(long, at) };
    const { error } = (await sealOutcome(outcome, job, sealed)) as Outcome & { kind: 'failed' };
    expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThanOrEqual(4096);
    const opened = (await unseal(contracts, error)) as { message: string; stack: string };
    expect(opened.message).toBe(outcome.error.message);
    expect(opened.stack.length).toBeGreaterThan(100);
  });

  test('without a codec nothing is: no promise, the same outcome', () => {
    const outcome = failure();
    expect(sealOutcome(outcome, job, plain)).toBe(outcome);
    const stopped = { kind: 'stopped' } as const;
    expect(sealOutcome(stopped, job, sealed)).toBe(stopped);
  });
});

describe('a codec that fails', () => {
  const leaking = broken(new TypeError(`cannot encode ${SECRET}`));

  test('keeps the payload from being stored, and its message to itself', async () => {
    const refused = sealPayload(leaking, 'sealed', SECRET);
    await expect(refused).rejects.toThrow(new CodecError('the codec of "sealed" threw TypeError'));
    await expect(refused).rejects.toMatchObject({ cause: expect.any(TypeError) });
  });

  test('with a CodecError says why', async () => {
    const why = broken(new CodecError('the key service does not answer'));
    await expect(sealPayload(why, 'sealed', 1)).rejects.toThrow(
      'the codec of "sealed" failed: the key service does not answer',
    );
  });

  test('at a result: the attempt has failed, with an error that holds nothing of it', async () => {
    const outcome = await sealOutcome({ kind: 'succeeded', result: SECRET }, job, leaking);
    expect(outcome).toMatchObject({
      kind: 'failed',
      permanent: false,
      error: {
        attempt: 3,
        name: 'CodecError',
        message: 'the result could not be sealed: the codec of "sealed" threw TypeError',
      },
    });
    expect(JSON.stringify(outcome)).not.toContain(SECRET);
  });

  test('at an error: its class is kept, and nothing else of it', async () => {
    const outcome = (await sealOutcome(failure(), job, leaking)) as Outcome & { kind: 'failed' };
    expect(outcome.error).toMatchObject({ name: 'TypeError', where: 'host:1' });
    expect(outcome.error.message).toBe(
      'message and stack are left out, since they could not be sealed: the codec of "sealed" threw TypeError',
    );
    expect(JSON.stringify(outcome)).not.toContain(SECRET);
    expect(outcome.error).not.toHaveProperty('stack');
  });

  test.each([
    ['gives something else', () => 'text' as never, 'failed: decode gave no Uint8Array'],
    ['throws no Error', () => Promise.reject('x'), 'threw string'],
    ['throws what throws at every look', () => Promise.reject(hostile()), 'threw what cannot be read'],
    ['gives what throws at every look', () => hostile() as never, 'threw what cannot be read'],
    // biome-ignore lint/suspicious/noThenProperty: some libraries' promises are no more than that
    ['gives a promise that is no Promise', () => ({ then() {} }) as never, 'failed: it took longer than 0.02 s'],
    ['never answers', () => new Promise<never>(() => {}), 'failed: it took longer than 0.02 s'],
  ])('because it %s', async (_, decode, sentence) => {
    const codec: Codec = { encode: (bytes) => bytes, decode };
    await expect(applied(codec, 'decode', Buffer.from('x'), 'k', 20)).rejects.toThrow(`the codec of "k" ${sentence}`);
  });
});

/** A Proxy whose every trap throws itself. */
function hostile(): unknown {
  const itself: object = new Proxy(() => {}, {
    get: () => raise(itself),
    getPrototypeOf: () => raise(itself),
    has: () => raise(itself),
  });
  return itself;
}

function raise(thrown: unknown): never {
  throw thrown;
}

test('an error that a codec makes large is not kept', async () => {
  const codec: Codec = { encode: () => Buffer.alloc(10_000), decode: (bytes) => bytes };
  const { error } = (await sealOutcome(failure(), job, { codec })) as Outcome & { kind: 'failed' };
  expect(error).toMatchObject({
    name: 'TypeError',
    message: 'message and stack are left out, since they could not be sealed: they take 13336 bytes then',
  });
  expect(error).not.toHaveProperty('sealed');
});

test('whatever a codec does, an attempt has an outcome that can be stored', async () => {
  const thrown = [hostile(), null, undefined, Object.create(null), new CodecError(`\0${'x'.repeat(100_000)}`)];
  for (const codec of thrown.map((one) => broken(one))) {
    for (const outcome of [failure(), { kind: 'succeeded', result: SECRET } as const]) {
      const kept = await sealOutcome(outcome, job, codec);
      expect(kept).toMatchObject({ kind: 'failed', error: { attempt: 3 } });
      const text = JSON.stringify(kept);
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain('\\u0000');
      expect(text.length).toBeLessThan(2000);
    }
  }
});

describe('unseal', () => {
  test('fields that have an error’s names by chance stay as they are', async () => {
    const own = { message: 'sealed', sealed: { by: 'hand' }, n: 1 };
    expect(await unseal(contracts, own)).toEqual(own);
  });

  test('opens what lies deep, of several kinds and names', async () => {
    const stored = {
      id: 1,
      payload: await sealPayload(sealed, 'old', { text: SECRET }),
      list: [await sealPayload(sealed, 'sealed', 2), null, { $sealed: 'no envelope' }],
    };
    const opened = { id: 1, payload: { text: SECRET }, list: [2, null, { $sealed: 'no envelope' }] };
    expect(await unseal(contracts, stored)).toEqual(opened);
  });

  test('refuses what it cannot open, and says of which kind it is', async () => {
    const gone = { $sealed: { kind: 'gone', data: 'AAAA' } };
    await expect(unseal(contracts, [gone])).rejects.toThrow(
      'a value is sealed for the kind "gone", which has no codec',
    );
    const noJson: Codec = { encode: (bytes) => bytes, decode: (bytes) => bytes };
    const odd = { odd: defineJob({ payload: z.unknown(), codec: noJson }) };
    const envelope = { $sealed: { kind: 'odd', data: Buffer.from(SECRET).toString('base64') } };
    await expect(unseal(odd, envelope)).rejects.toThrow(/^what the codec of "odd" opened is no JSON$/);
  });

  test('a sealed error that stays closed keeps its envelope', async () => {
    const { error } = (await sealOutcome(failure(), job, sealed)) as Outcome & { kind: 'failed' };
    expect(await unsealWith(async (envelope) => envelope, error)).toEqual(error);
  });

  test('the text of jsonb: numbers beyond JavaScript stay, text that looks like an envelope stays', async () => {
    const { data } = ((await sealPayload(sealed, 'sealed', [1])) as { $sealed: { data: string } }).$sealed;
    const envelope = `{"$sealed": {"data": "${data}", "kind": "sealed"}}`;
    const text = `{"n": 12345678901234567890.10, "s": ${JSON.stringify(envelope)}, "at": [${envelope}]}`;
    const open = async () => ({ $1: 'and $& are no patterns' });
    expect(await unsealText(open, text)).toBe(text.replace(`[${envelope}]`, () => '[{"$1":"and $& are no patterns"}]'));
    expect(await unsealText(open, '{"n": 1e400}')).toBe('{"n": 1e400}');
  });

  test.each([
    [null],
    [{}],
    [{ $sealed: null }],
    [{ $sealed: { kind: 'a' } }],
    [{ $sealed: { kind: 'a', data: 'b' }, x: 1 }],
  ])('%j is no envelope', (value) => expect(isEnvelope(value)).toBe(false));
});
