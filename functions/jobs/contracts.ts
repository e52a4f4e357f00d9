import * as z from 'zod';
import { defineJob } from '../queue/contract.ts';

/** The sample jobs of this repository: what `#contracts` means here. */
export const contracts = {
  /** A greeting, to see a job go through. */
  'hello.greet': defineJob({ payload: z.object({ name: z.string().min(1).max(100) }), timeoutSeconds: 5 }),
  /** One delivery of a GitHub webhook, tallied per event and repository. The body is GitHub's, so only its outline is checked. */
  'github.webhook': defineJob({
    payload: z.object({
      /** Which tally it counts into: `npm run demo` gives each of its runs one of its own. */
      run: z.string().max(100).default(''),
      event: z.string().min(1).max(100),
      delivery: z.looseObject({ repository: z.looseObject({ full_name: z.string() }).optional() }),
      /** Milliseconds to dawdle before counting, so that `npm run demo -- --chaos` catches jobs at work. */
      dawdle_ms: z.number().int().min(0).max(2000).default(0),
    }),
    timeoutSeconds: 5,
    maxAttempts: 20,
    backoff: { baseSeconds: 1, capSeconds: 10 },
  }),
};
