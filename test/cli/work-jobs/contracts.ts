import { deadJob, defineJob } from 'millrace/queue';
import * as z from 'zod';

const payload = z.object({ ms: z.number().default(0) });

export const contracts = {
  sleep: defineJob({ payload, timeoutSeconds: 20, onDead: 'mourn' }),
  hold: defineJob({ payload, timeoutSeconds: 20 }),
  fail: defineJob({ payload, timeoutSeconds: 20, onDead: 'mourn' }),
  mourn: defineJob({ payload: deadJob(payload), timeoutSeconds: 20 }),
};
