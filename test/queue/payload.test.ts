import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { PayloadError, parsePayload, readPayload } from '../../functions/queue/payload.ts';
import { sealOutcome, sealPayload } from '../../functions/queue/seal.ts';

const schema = z.object({ to: z.email(), lines: z.array(z.object({ amount: z.number().transform((n) => n * 2) })) });

test('the processor gets what the contract makes of the payload', () => {
  expect(parsePayload(schema, { to: 'a@b.example', lines: [{ amount: 2 }] })).toEqual({
    to: 'a@b.example',
    lines: [{ amount: 4 }],
  });
});

test('a misfit names each field', () => {
  expect(() => parsePayload(schema, { to: 'x', lines: [{ amount: 'y' }] })).toThrow(PayloadError);
  expect(() => parsePayload(schema, { to: 'x', lines: [{ amount: 'y' }] })).toThrow(/\/to: .*; \/lines\/0\/amount: /);
  expect(() => parsePayload(schema, null)).toThrow(/payload: /);
});

test('a contract may have asynchronous parts', async () => {
  const slow = z.string().refine(async (text) => text === 'good');
  await expect(parsePayload(slow, 'good')).resolves.toBe('good');
  await expect(parsePayload(slow, 'bad')).rejects.toThrow(PayloadError);
});

test('a refinement that throws is its own error', () => {
  const broken = z.string().refine(() => {
    throw new Error('refine broke');
  });
  expect(() => parsePayload(broken, 'x')).toThrow('refine broke');
});

describe('a claimed job', () => {
  const text = z.object({ text: z.string() });
  const codec = aesGcm(() => 'A'.repeat(43));
  const contracts = {
    note: defineJob({
      payload: text,
      aliases: ['old.note'],
      upcast: (payload, kind) => (typeof payload === 'string' ? { text: `${kind}: ${payload}` } : payload),
    }),
    letter: defineJob({ payload: text, codec, aliases: ['old.letter'], onDead: 'mourn' }),
    other: defineJob({ payload: text, codec }),
    mourn: defineJob({ payload: z.looseObject({}) }),
  };
  type Kind = keyof typeof contracts;
  const read = async (of: Kind, payload: unknown, kind: string = of) =>
    readPayload(contracts[of], { kind, payload }, contracts);

  test('upcast is given every payload, and the name that the job was put in by', async () => {
    expect(await read('note', 'hi', 'old.note')).toEqual({ text: 'old.note: hi' });
    expect(await read('note', { text: 'hi' })).toEqual({ text: 'hi' });
  });

  test('an upcast that gives a promise is a misfit, not a payload without content', async () => {
    const late = {
      note: defineJob({ payload: z.looseObject({}), upcast: async () => Promise.reject(new Error('late')) }),
    };
    expect(() => readPayload(late.note, { kind: 'note', payload: { text: 'hi' } }, late)).toThrow(PayloadError);
  });

  test('of what a codec threw only the class is told, also to a job that tells of a death', async () => {
    const decode = () => {
      throw new TypeError('cannot decode the secret');
    };
    const leaking = {
      ...contracts,
      letter: defineJob({ payload: text, codec: { encode: codec.encode, decode }, onDead: 'mourn' }),
    };
    const sealed = await sealPayload(leaking.letter, 'letter', { text: 'hi' });
    for (const [kind, payload] of [
      ['letter', sealed],
      ['mourn', { payload: sealed }],
    ] as const) {
      const error = await Promise.resolve(readPayload(leaking[kind], { kind, payload }, leaking)).catch(
        (thrown) => thrown,
      );
      expect(error).toBeInstanceOf(PayloadError);
      expect(inspect(error)).toContain('threw TypeError');
      expect(inspect(error)).not.toContain('the secret');
    }
  });

  test('what upcast throws is a misfit', async () => {
    const wrong = { note: defineJob({ payload: text, upcast: (payload) => (payload as { a: { b: 1 } }).a.b }) };
    expect(() => readPayload(wrong.note, { kind: 'note', payload: {} }, wrong)).toThrow(PayloadError);
  });

  test('without a codec, and with a schema that does not wait, nobody waits', () => {
    expect(readPayload(contracts.note, { kind: 'note', payload: { text: 'hi' } }, contracts)).toEqual({ text: 'hi' });
  });

  test('a sealed payload is opened first, also one of an alias, and one in clear is read as it is', async () => {
    for (const kind of ['letter', 'old.letter']) {
      expect(await read('letter', await sealPayload(contracts.letter, kind, { text: 'hi' }), kind)).toEqual({
        text: 'hi',
      });
    }
    expect(await read('letter', { text: 'in clear' })).toEqual({ text: 'in clear' });
  });

  test('what is sealed for another kind, or for one without a codec here, is a misfit', async () => {
    const letter = await sealPayload(contracts.letter, 'letter', { text: 'hi' });
    await expect(read('other', letter)).rejects.toThrow(
      /sealed and cannot be opened: it is sealed for the kind "letter"/,
    );
    await expect(read('note', letter)).rejects.toThrow(PayloadError);
    const without = { letter: defineJob({ payload: text }) };
    await expect(readPayload(without.letter, { kind: 'letter', payload: letter }, without)).rejects.toThrow(
      'a value is sealed for the kind "letter", which has no codec here',
    );
  });

  test('an envelope within a payload stays closed: who copies it there shall not have it opened', async () => {
    const stolen = await sealPayload(contracts.letter, 'letter', { text: 'secret' });
    expect(await read('mourn', { text: stolen })).toEqual({ text: stolen });
    const loose = { ...contracts, letter: defineJob({ payload: z.looseObject({}), codec }) };
    const sent = await sealPayload(loose.letter, 'letter', { text: stolen });
    expect(await readPayload(loose.letter, { kind: 'letter', payload: sent }, loose)).toEqual({ text: stolen });
  });

  test('the payload and error of a dead job are opened for the kind that is told of it, and for no other', async () => {
    const at = { attempt: 1, name: 'Error' };
    const failed = { kind: 'failed', permanent: true, error: { ...at, message: 'boom', stack: 'at x' } } as const;
    const outcome = await sealOutcome(failed, { kind: 'letter', attempts: 1 }, contracts.letter);
    const error = (outcome as typeof failed).error;
    const death = { id: '1', payload: await sealPayload(contracts.letter, 'letter', { text: 'hi' }), error };
    expect(await read('mourn', death)).toEqual({ id: '1', payload: { text: 'hi' }, error: failed.error });
    expect(await read('note', death).catch(String)).toMatch(/^PayloadError/);
    const plain = { id: '1', payload: null, error: { ...at, message: 'LeaseExpired' } };
    expect(await read('mourn', plain)).toEqual(plain);
  });
});
