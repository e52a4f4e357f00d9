import * as z from 'zod';
import { defineJob, type Processors } from '../../../functions/queue/contract.ts';
import type { Did } from './effects.ts';

/** Yesterday's code. */
export const contracts = {
  'order.mail': defineJob({ payload: z.object({ email: z.string() }), queue: 'mail' }),
  'report.build': defineJob({ payload: z.object({ week: z.int() }), timeoutSeconds: 20 }),
  'note.keep': defineJob({ payload: z.object({ text: z.string() }) }),
  'legacy.sync': defineJob({ payload: z.object({}) }),
};

export const processors = (did: Did): Processors<typeof contracts> => ({
  'order.mail': ({ email }, { job }) => did({ by: 'before order.mail', job: job.id, payload: { email } }),
  'report.build': ({ week }, { job }) => did({ by: 'before report.build', job: job.id, payload: { week } }),
  'note.keep': ({ text }, { job }) => did({ by: 'before note.keep', job: job.id, payload: { text } }),
  'legacy.sync': (_, { job }) => did({ by: 'before legacy.sync', job: job.id, payload: {} }),
});
