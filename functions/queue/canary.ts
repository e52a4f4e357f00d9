import * as z from 'zod';
import { type Contracts, defineJob } from './contract.ts';

/**
 * The kind that every worker has beside those of whoever deployed it: `npx millrace doctor` puts such a job in and watches
 * it being picked up. It does nothing.
 */
export const CANARY = 'millrace.canary';

/** Once: a canary that is not well says so, and is not tried again. */
const canary = defineJob({ payload: z.object({}), maxAttempts: 1, timeoutSeconds: 5 });

export const canaryProcessors = { [CANARY]: () => ({}) };

/**
 * These contracts, and the canary's.
 * @throws RangeError if one of them, or an alias, has its name
 */
export function withCanary<C extends Contracts>(contracts: C): C & { readonly [CANARY]: typeof canary } {
  const taken = Object.entries(contracts).find(([kind, { aliases = [] }]) => [kind, ...aliases].includes(CANARY));
  if (taken !== undefined) {
    throw new RangeError(
      `The contract of "${taken[0]}" takes the name ${CANARY}, which is that of Millrace's own job: choose another.`,
    );
  }
  return { ...contracts, [CANARY]: canary };
}
