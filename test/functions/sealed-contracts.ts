import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import { defineJob } from '../../functions/queue/contract.ts';

/** Stands for `#contracts` in sealed.test.ts. */
export const contracts = {
  letter: defineJob({
    payload: z.looseObject({ text: z.string() }),
    codec: aesGcm(() => process.env.TEST_JOB_KEYS),
    maxAttempts: 1,
    aliases: ['post'],
  }),
  card: defineJob({ payload: z.looseObject({}) }),
};
