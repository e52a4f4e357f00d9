import * as z from 'zod';
import { aesGcm } from '../../../functions/queue/aes-codec.ts';
import { defineJob, type Processors } from '../../../functions/queue/contract.ts';
import type { Did } from './effects.ts';

/** Today's code: a kind has another name, two have another shape, one is sealed, one takes less time, one is gone. */
export const contracts = {
  'order.notify': defineJob({
    payload: z.object({ to: z.array(z.string()) }),
    queue: 'mail',
    aliases: ['order.mail'],
    upcast: (payload, kind) => (kind === 'order.mail' ? { to: [(payload as { email: string }).email] } : payload),
  }),
  'report.build': defineJob({
    payload: z.object({ days: z.int() }),
    timeoutSeconds: 5,
    upcast: (payload) => {
      const { week, days = (week ?? 0) * 7 } = payload as { week?: number; days?: number };
      return { days };
    },
  }),
  'note.keep': defineJob({ payload: z.object({ text: z.string() }), codec: aesGcm(() => 'k'.repeat(42).concat('A')) }),
};

export const processors = (did: Did): Processors<typeof contracts> => ({
  'order.notify': ({ to }, { job }) => did({ by: 'after order.notify', job: job.id, payload: { to } }),
  'report.build': ({ days }, { job }) => did({ by: 'after report.build', job: job.id, payload: { days } }),
  'note.keep': ({ text }, { job }) => did({ by: 'after note.keep', job: job.id, payload: { text } }),
});
