import { defineJob, type Processors } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  // Nobody puts that name in yet; workers take it already.
  'mail.send': defineJob({ payload: z.object({ to: z.email() }), aliases: ['email.send'] }),
};

export const processors: Processors<typeof contracts> = {
  'mail.send': async ({ to }) => ({ sent: [to] }),
};
