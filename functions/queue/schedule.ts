import type * as z from 'zod';
import type { Contracts } from './contract.ts';

/** What is done about fire times that nobody came to: a job for the latest, one for each (at most the latest 1,000), or none. */
export type CatchUp = 'latest' | 'all' | 'none';
/** Whether a fire time makes a job though one of the schedule is pending or processing. */
export type Overlap = 'skip' | 'allow';

/** When: by a cron pattern in a time zone, or at equal distances. */
export type Timing =
  | { readonly cron: string; readonly every?: undefined; readonly zone?: string | undefined }
  | { readonly every: string; readonly cron?: undefined; readonly zone?: undefined };

/** A job that recurs. Light, as a contract is: it may be bundled anywhere. */
export interface Schedule<Kind extends string = string, Payload = unknown> {
  readonly name: string;
  readonly cron: string | undefined;
  readonly every: string | undefined;
  /** Of `cron`; undefined with `every`. */
  readonly zone: string | undefined;
  readonly kind: Kind;
  readonly payload: Payload;
  readonly catchUp: CatchUp;
  readonly overlap: Overlap;
}

/** Schedules of these kinds. A misspelt kind, or a payload that its contract does not take, does not compile. */
export type Schedules<C extends Contracts> = readonly {
  [Kind in keyof C & string]: Schedule<Kind, z.input<C[Kind]['payload']>>;
}[keyof C & string][];

/**
 * Declares a job that recurs: at each of its fire times, a worker puts in a job of `kind` with `payload`. Export them as
 * `schedules`, beside `contracts`. What it says is checked at synth, and at the start of each run (check-schedules.ts).
 * @param options.name tells it from all others, also when everything else of it changes
 * @param options.cron five fields: minute, hour, day of month, month, day of week
 * @param options.zone IANA name, such as `Europe/Berlin`, in which `cron` is meant. Default `UTC`
 * @param options.every a whole number with its unit, `90s`, `5m`, `2h`, `1d`: at its multiples since 1970-01-01T00:00:00Z. From 1 s
 * to 366 d
 * @param options.catchUp what is done about fire times that nobody came to. Default `latest`; `all` needs `overlap: 'allow'`
 * @param options.overlap whether there may be more than one job of it that has not ended. Default `skip`: the fire time passes
 */
export function schedule<Kind extends string, Payload>(
  options: Timing & {
    readonly name: string;
    readonly kind: Kind;
    readonly payload: Payload;
    readonly catchUp?: CatchUp;
    readonly overlap?: Overlap;
  },
): Schedule<Kind, Payload> {
  const { name, cron, every, zone, kind, payload, catchUp = 'latest', overlap = 'skip' } = options;
  return { name, cron, every, zone: zone ?? (cron === undefined ? undefined : 'UTC'), kind, payload, catchUp, overlap };
}
