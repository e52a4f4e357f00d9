import { canaryProcessors, withCanary } from '../queue/canary.ts';
import { checkSchedules } from '../queue/check-schedules.ts';
import type { Contracts, Processors } from '../queue/contract.ts';
import { type Middleware, middlewareOf } from '../queue/middleware.ts';
import type { Schedule } from '../queue/schedule.ts';

export interface Jobs<C extends Contracts = Contracts> {
  readonly contracts: C;
  readonly processors: Processors<C>;
  readonly middleware: readonly Middleware[];
  readonly schedules: readonly Schedule[];
}

/**
 * What a worker runs, of the modules that a user has written: their kinds and the canary's, what is around processors, what recurs.
 * @throws TypeError for a `middleware` that is none, RangeError for a schedule that is none
 */
export function jobsOf<C extends Contracts>(
  { contracts, schedules = [] }: { readonly contracts: C; readonly schedules?: unknown },
  { processors, middleware }: { readonly processors: Processors<C>; readonly middleware?: unknown },
): Jobs {
  checkSchedules(contracts, schedules);
  return {
    contracts: withCanary(contracts),
    processors: { ...processors, ...canaryProcessors } as Processors<Contracts>,
    middleware: middlewareOf(middleware),
    schedules,
  };
}
