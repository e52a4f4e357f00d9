import type { AttemptError } from './job.ts';

/** How an attempt went, as perform saw it. */
export type Outcome =
  | { readonly kind: 'succeeded'; readonly result: unknown }
  /** `ctx.transaction` committed the completion itself: there is nothing left to settle. */
  | { readonly kind: 'committed' }
  | {
      readonly kind: 'failed';
      readonly error: AttemptError;
      readonly permanent: boolean;
      readonly retryAfterSeconds?: number;
    }
  | { readonly kind: 'snoozed'; readonly seconds: number }
  /** Stopped for a drain or a cancel request: the attempt is given back (a cancelled job ends there, in SQL). */
  | { readonly kind: 'stopped' }
  /** The claim was lost: somebody else has the job. */
  | { readonly kind: 'lost' };

/** What is to be written for it. */
export type Settlement =
  | { readonly kind: 'complete'; readonly result: unknown }
  | { readonly kind: 'retry'; readonly error: AttemptError; readonly delaySeconds: number }
  | { readonly kind: 'bury'; readonly error: AttemptError }
  | { readonly kind: 'release'; readonly delaySeconds: number }
  | { readonly kind: 'none' };
