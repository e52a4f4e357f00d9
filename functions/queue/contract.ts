import type * as z from 'zod';
import type { Codec } from './codec.ts';
import type { Context } from './context.ts';

/** Exponential backoff with full jitter between attempts, see backoff.ts. */
export interface BackoffPolicy {
  /** Seconds. Upper bound of the first delay. Default 30. */
  readonly baseSeconds: number;
  /** Seconds. Upper bound of any delay. Default 21,600 (6 h). */
  readonly capSeconds: number;
}

/** What producers and workers agree on about a kind. Light: it may be bundled anywhere. */
export interface Contract<Payload extends z.ZodType = z.ZodType> {
  readonly payload: Payload;
  /** How often the job may be started. Default 5. */
  readonly maxAttempts: number;
  /** Seconds an attempt may take before its signal aborts. Default 30. */
  readonly timeoutSeconds: number;
  readonly backoff: BackoffPolicy;
  /** Lane the kind goes to unless the enqueue names one. Default `default`. */
  readonly queue: string;
  /** Names that jobs of this kind had before: what waits under one of them is processed by this kind's code. Default none. */
  readonly aliases: readonly string[];
  /**
   * Makes of a stored payload what the schema of today reads. Called with every payload before its schema is, so it must take
   * those of today too, and with the name that the job was put in by. Not asynchronous. Default: none, the schema reads what
   * was stored.
   */
  readonly upcast: ((payload: unknown, kind: string) => unknown) | undefined;
  /** Kind of the job that is put in for each that dies, by the statement that buries it. Default none. */
  readonly onDead: string | undefined;
  /** What payloads, results and errors are stored by. Default: none, they are stored as they are. */
  readonly codec: Codec | undefined;
}

export type Contracts = Readonly<Record<string, Contract>>;

/** The code of each kind. A missing, misspelt or mistyped processor does not compile. */
export type Processors<C extends Contracts> = {
  readonly [Kind in keyof C]: (payload: z.output<C[Kind]['payload']>, ctx: Context) => unknown;
};

export const DEFAULTS = {
  maxAttempts: 5,
  timeoutSeconds: 30,
  backoff: { baseSeconds: 30, capSeconds: 21_600 },
  queue: 'default',
} as const;

/**
 * Declares a kind of job. Bounds: `maxAttempts` 1 to 1,000; `timeoutSeconds` above 0 and at most 840
 * (a Lambda's 15 minutes less the margins); `backoff` bounds 1 s to 365 days.
 * @throws RangeError naming the setting that is out of bounds
 */
export function defineJob<Payload extends z.ZodType>(options: {
  payload: Payload;
  maxAttempts?: number;
  timeoutSeconds?: number;
  backoff?: Partial<BackoffPolicy>;
  queue?: string;
  aliases?: readonly string[];
  upcast?: (payload: unknown, kind: string) => unknown;
  onDead?: string;
  codec?: Codec;
}): Contract<Payload> {
  const contract: Contract<Payload> = {
    payload: options.payload,
    maxAttempts: options.maxAttempts ?? DEFAULTS.maxAttempts,
    timeoutSeconds: options.timeoutSeconds ?? DEFAULTS.timeoutSeconds,
    backoff: { ...DEFAULTS.backoff, ...options.backoff },
    queue: options.queue ?? DEFAULTS.queue,
    aliases: options.aliases ?? [],
    upcast: options.upcast,
    onDead: options.onDead,
    codec: options.codec,
  };
  within('maxAttempts', contract.maxAttempts, 1, 1000);
  if (!Number.isInteger(contract.maxAttempts)) throw new RangeError('maxAttempts must be a whole number');
  within('timeoutSeconds', contract.timeoutSeconds, 0.001, 840);
  within('backoff.baseSeconds', contract.backoff.baseSeconds, 1, 31_536_000);
  within('backoff.capSeconds', contract.backoff.capSeconds, 1, 31_536_000);
  if (!NAME.test(contract.queue)) throw new RangeError(`queue must match ${NAME.source}, not "${contract.queue}"`);
  const misnamed = contract.aliases.find((alias) => !NAME.test(alias));
  if (misnamed !== undefined) throw new RangeError(`aliases must match ${NAME.source}, not "${misnamed}"`);
  return contract;
}

/** Names of kinds and queues, as the database checks them (migrations/0001). */
export const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

function within(setting: string, value: number, min: number, max: number): void {
  if (!(value >= min && value <= max)) throw new RangeError(`${setting} must lie from ${min} to ${max}, not ${value}`);
}
