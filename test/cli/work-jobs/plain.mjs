import { defineJob } from 'millrace/queue';
import * as z from 'zod';

export const contracts = { sleep: defineJob({ payload: z.unknown(), timeoutSeconds: 20 }) };
export const processors = { sleep: () => 'not bundled' };
