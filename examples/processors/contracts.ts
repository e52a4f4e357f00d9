import { defineJob } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  'order.charge': defineJob({
    payload: z.object({ orderId: z.int(), cents: z.int().positive() }),
    maxAttempts: 8,
    timeoutSeconds: 20,
  }),
  'order.ship': defineJob({ payload: z.object({ orderId: z.int() }) }),
  'orders.export': defineJob({ payload: z.object({ after: z.int().default(0) }), timeoutSeconds: 60 }),
};
