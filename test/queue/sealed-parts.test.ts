import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { sealPayload } from '../../functions/queue/seal.ts';
import { sealingOf } from '../../functions/queue/sealed-parts.ts';

const payload = z.unknown();
const codec = aesGcm(() => 'A'.repeat(43));
const own = aesGcm(() => 'B'.repeat(43));
const contracts = {
  letter: defineJob({ payload, codec, onDead: 'mourn', aliases: ['post'] }),
  secret: defineJob({ payload, codec, onDead: 'wake' }),
  mourn: defineJob({ payload, aliases: ['grieve'] }),
  wake: defineJob({ payload, codec: own }),
  plain: defineJob({ payload }),
};
const of = (kind: keyof typeof contracts, given: unknown, name: string = kind) =>
  sealingOf({ kind: name, payload: given }, contracts[kind], contracts);

describe('what comes of a job is sealed', () => {
  test('by the codec of its kind, under the name that it was put in by', async () => {
    expect(of('letter', {}, 'post')).toEqual({ kind: 'post', codec });
    expect(of('plain', {})).toEqual({ kind: 'plain', codec: undefined });
    const death = { payload: await sealPayload(contracts.secret, 'secret', 1) };
    expect(of('wake', death)).toEqual({ kind: 'wake', codec: own });
  });

  test('as the death is that it tells of, if its kind has none', async () => {
    const envelope = await sealPayload(contracts.letter, 'post', { text: 'hi' });
    for (const name of ['mourn', 'grieve']) {
      expect(of('mourn', { payload: envelope, error: { message: 'plain' } }, name)).toEqual({ kind: 'post', codec });
      const left = { payload: null, error: { message: 'sealed', sealed: envelope } };
      expect(of('mourn', left, name)).toEqual({ kind: 'post', codec });
    }
    expect(of('mourn', { payload: { text: 'hi' }, error: null })).toEqual({ kind: 'mourn', codec: undefined });
    expect(of('plain', { payload: envelope })).toEqual({ kind: 'plain', codec: undefined });
  });
});
