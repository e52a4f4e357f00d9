import { defineJob } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  'invoice.send': defineJob({ payload: z.object({ invoiceId: z.int() }), maxAttempts: 3 }),
  'invoice.remind': defineJob({ payload: z.object({ invoiceId: z.int(), level: z.int().default(1) }) }),
};
