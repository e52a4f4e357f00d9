import { checkSchedules } from './check-schedules.ts';
import type { Log } from './context.ts';
import { type Contract, type Contracts, DEFAULTS, NAME, type Processors } from './contract.ts';
import type { Emit } from './events.ts';
import { kindsByName } from './kinds.ts';
import type { Middleware } from './middleware.ts';
import type { Processor } from './perform.ts';
import type { Schedule } from './schedule.ts';
import type { Slot } from './see-start.ts';
import type { Start } from './start.ts';
import type { Connect } from './steady-connection.ts';

export interface RunOptions<C extends Contracts> {
  readonly contracts: C;
  readonly processors: Processors<C>;
  /** Around each processor, the first outermost. Default none. */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Opens a connection; the run opens at most 1 + `transactions`, each when it is first needed, and ends them. */
  readonly connect: Connect;
  /** Of jobs that recur. A run in a slot above the first leaves them to that one. Default none. */
  readonly schedules?: readonly Schedule[] | undefined;
  /** Queues to serve, in turn. Default: `default` and those that the contracts name. */
  readonly queues?: readonly string[] | undefined;
  /** Jobs in flight at once, 1 or more. */
  readonly concurrency: number;
  /** How many jobs are in flight beside those of this run: they take its slots, and a suspect waits for their end. Default 0. */
  readonly others?: (() => number) | undefined;
  /**
   * Connections for `ctx.transaction`, and so how many of them go on at once; 0 or more. One that lies idle also carries what is settled
   * in large batches.
   */
  readonly transactions: number;
  /** Milliseconds that remain, Infinity for a run without end. Attempts that are not finished 5 s before go back. */
  readonly remainingMs: () => number;
  /** Seconds for which the run goes on asking for jobs after it last had something to do; Infinity is one. */
  readonly lingerSeconds: number;
  /** Seconds after which it asks no more, come what may, since another run then does. What it holds, it finishes. Default: none. */
  readonly claimSeconds?: number | undefined;
  /**
   * Which of a worker's places it is to have. It ends at once if it is not needed there, and claims until another run has taken the
   * place from it. `woken`: it was started because nobody was present. Default: none, and it begins whatever there is.
   */
  readonly slot?: (Slot & Pick<Start, 'woken'>) | undefined;
  /** When it aborts, the run claims nothing more, and ends when what it holds is finished. */
  readonly finish?: AbortSignal | undefined;
  /** When it aborts, the run drains within 5 s: it claims nothing, and what does not finish goes back with its attempt. */
  readonly signal?: AbortSignal | undefined;
  readonly emit: Emit;
  readonly log: Log;
  /**
   * Which run it is, for whoever reads a job's errors (`errors[].where`): at most 200 bytes as JSON, the rest is cut.
   * Default `host:pid`.
   */
  readonly where?: string | undefined;
  /** Seconds by which a lease outlives its job's deadline. Default 10; less makes tests of crashes quick. */
  readonly leaseMarginSeconds?: number | undefined;
  /** Seconds that a statement of the run may take; then it is given up with its connection. Default 10. */
  readonly statementSeconds?: number | undefined;
}

/** A kind that this run can perform. */
export interface Performable extends Contract {
  readonly processor: Processor;
}

/** @throws RangeError naming the option that is out of bounds, or the kind whose contract contradicts another */
export function checkOptions<C extends Contracts>({
  contracts,
  concurrency,
  transactions,
  lingerSeconds,
  claimSeconds = Infinity,
  schedules = [],
  slot,
  queues,
}: RunOptions<C>): void {
  kindsByName(contracts);
  checkSchedules(contracts, schedules);
  whole('concurrency', concurrency, 1);
  whole('transactions', transactions, 0);
  if (!(lingerSeconds >= 0)) throw new RangeError(`lingerSeconds must be 0 or more, not ${lingerSeconds}`);
  if (!(claimSeconds >= 0)) throw new RangeError(`claimSeconds must be 0 or more, not ${claimSeconds}`);
  if (slot) whole('slot.slot', slot.slot, 0);
  if (queues?.length === 0) throw new RangeError('queues must name a queue, or be left out');
  const misnamed = queues?.find((queue) => !NAME.test(queue));
  if (misnamed !== undefined) throw new RangeError(`queues: "${misnamed}" does not match ${NAME.source}`);
}

/** Kinds that have a processor, by each name that their jobs may have: their own and their aliases. */
export function performableKinds<C extends Contracts>({
  contracts,
  processors,
}: {
  readonly contracts: C;
  readonly processors: Partial<Processors<C>>;
}): Map<string, Performable> {
  const code = new Map<string, unknown>(Object.entries(processors));
  const kinds = new Map<string, Performable>();
  for (const [name, { kind, contract }] of kindsByName(contracts)) {
    const processor = code.get(kind);
    if (typeof processor === 'function') kinds.set(name, { ...contract, processor: processor as Processor });
  }
  if (kinds.size === 0) throw new RangeError('contracts and processors have no kind in common: there is nothing to do');
  return kinds;
}

export function servedQueues<C extends Contracts>({ contracts, queues }: RunOptions<C>): string[] {
  return [...new Set(queues ?? [DEFAULTS.queue, ...Object.values(contracts).map(({ queue }) => queue)])];
}

function whole(option: string, value: number, min: number): void {
  if (!Number.isInteger(value) || value < min)
    throw new RangeError(`${option} must be a whole number from ${min}, not ${value}`);
}
