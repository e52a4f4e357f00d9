import { canaryProcessors, withCanary } from '../queue/canary.ts';
import type { Contracts, Processors } from '../queue/contract.ts';
import { type Middleware, middlewareOf } from '../queue/middleware.ts';

export interface Jobs<C extends Contracts = Contracts> {
  readonly contracts: C;
  readonly processors: Processors<C>;
  readonly middleware: readonly Middleware[];
}

/**
 * What a worker runs, of the modules that a user has written: their kinds and the canary's, and what is around processors.
 * @throws TypeError for a `middleware` that is none
 */
export function jobsOf<C extends Contracts>(
  { contracts }: { readonly contracts: C },
  { processors, middleware }: { readonly processors: Processors<C>; readonly middleware?: unknown },
): Jobs {
  return {
    contracts: withCanary(contracts),
    processors: { ...processors, ...canaryProcessors } as Processors<Contracts>,
    middleware: middlewareOf(middleware),
  };
}
