import { defineJob, type Processors } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  'mail.send': defineJob({ payload: z.object({ to: z.email() }) }),
};

export const processors: Processors<typeof contracts> = {
  'mail.send': async ({ to }) => ({ sent: [to] }),
};
