import { defineJob } from 'millrace/queue';
import * as z from 'zod';

/** What each kind of job takes, and how it is run. Producers import this file too: keep what processors need out of it. */
export const contracts = {
  'welcome.send': defineJob({
    payload: z.object({ email: z.email(), name: z.string().min(1).default('friend') }),
    timeoutSeconds: 20,
    maxAttempts: 8,
  }),
};
