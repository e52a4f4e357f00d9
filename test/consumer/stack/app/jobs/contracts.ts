import { defineJob } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  'file.fingerprint': defineJob({ payload: z.object({ text: z.string() }), timeoutSeconds: 5 }),
  'partner.notify': defineJob({ payload: z.object({ orderId: z.int() }), timeoutSeconds: 20, maxAttempts: 8 }),
  'order.audit': defineJob({ payload: z.object({ orderId: z.int() }) }),
};
