import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CANARY, canaryProcessors, withCanary } from '../../functions/queue/canary.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { performableKinds } from '../../functions/queue/run-options.ts';
import { validate } from '../../functions/queue/validate.ts';

const greet = defineJob({ payload: z.string() });

describe('the canary', () => {
  test('is a kind beside those of whoever deployed it', () => {
    const contracts = withCanary({ greet });
    expect(Object.keys(contracts)).toEqual(['greet', CANARY]);
    expect(contracts[CANARY]).toMatchObject({ maxAttempts: 1, timeoutSeconds: 5, queue: 'default' });
    const kinds = performableKinds({ contracts, processors: { greet: () => 1, ...canaryProcessors } });
    expect([...kinds.keys()]).toEqual(['greet', CANARY]);
    expect(canaryProcessors[CANARY]()).toEqual({});
  });

  test('is put in like others, and not told of to who misspells a kind', async () => {
    const contracts = withCanary({ greet });
    const limits = { payloadMaxBytes: 100 };
    const valid = await validate({ kind: CANARY, payload: {} }, contracts, limits);
    expect(valid).toMatchObject({ kind: 'valid', job: { kind: CANARY, maxAttempts: 1 } });
    const { flaws } = (await validate({ kind: 'great', payload: 'Ada' }, contracts, limits)) as { flaws: unknown };
    expect(flaws).toEqual([{ pointer: '/kind', detail: 'is not a known kind; known kinds: greet' }]);
  });

  test('gives its name to no other kind, nor to an alias', () => {
    expect(() => withCanary({ [CANARY]: greet })).toThrow(/"millrace\.canary" takes the name millrace\.canary/);
    const renamed = defineJob({ payload: z.string(), aliases: [CANARY] });
    expect(() => withCanary({ renamed })).toThrow(/"renamed" takes the name millrace\.canary/);
  });
});
