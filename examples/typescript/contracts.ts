import { defineJob } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  'hello.greet': defineJob({ payload: z.object({ name: z.string().min(1).max(100) }), timeoutSeconds: 5 }),
};
