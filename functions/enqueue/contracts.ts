import { contracts as own } from '#contracts';
import { withCanary } from '../queue/canary.ts';
import { kindsByName } from '../queue/kinds.ts';

/** What may be put in: kinds of whoever deployed it, and the one of `npx millrace doctor`. */
export const contracts = withCanary(own);

// As at synth, for functions that were deployed in another way.
kindsByName(contracts);
