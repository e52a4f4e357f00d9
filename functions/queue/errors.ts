import { MAX_AHEAD_SECONDS } from './run-at.ts';

/** Base of every error of the engine. `code` is stable: programs match on it, people read the message. */
export abstract class MillraceError extends Error {
  static override readonly name: string = 'MillraceError';
  abstract readonly code: string;
  override get name(): string {
    return this.constructor.name;
  }
}

/** Thrown by a processor: the job can never succeed. It is buried now, whatever attempts are left. */
export class PermanentError extends MillraceError {
  static override readonly name: string = 'PermanentError';
  readonly code = 'permanent';
}

/** Thrown by a processor: the attempt counts, and the next one is due in `seconds` in place of the kind's backoff. */
export class RetryAfter extends MillraceError {
  static override readonly name: string = 'RetryAfter';
  readonly code = 'retry_after';
  readonly seconds: number;
  constructor(seconds: number, message = `retry after ${seconds} s`, options?: ErrorOptions) {
    super(message, options);
    this.seconds = wholeDelay('RetryAfter', seconds);
  }
}

/** Thrown by a processor: nothing failed, look again in `seconds`. The attempt is given back and no error is recorded. */
export class Snooze extends MillraceError {
  static override readonly name: string = 'Snooze';
  readonly code = 'snooze';
  readonly seconds: number;
  constructor(seconds: number) {
    super(`snooze ${seconds} s`);
    this.seconds = wholeDelay('Snooze', seconds);
  }
}

/** The claim was reaped, cancelled or redriven meanwhile: somebody else decides about the job, this run changes nothing. */
export class ClaimLostError extends MillraceError {
  static override readonly name: string = 'ClaimLostError';
  readonly code = 'claim_lost';
}

/** The attempt ran longer than its kind's `timeoutSeconds`. */
export class DeadlineError extends MillraceError {
  static override readonly name: string = 'DeadlineError';
  readonly code = 'deadline';
}

/** Somebody asked for the running job to be cancelled. */
export class CancelledError extends MillraceError {
  static override readonly name: string = 'CancelledError';
  readonly code = 'cancelled';
}

/** The worker is draining: the job is given back with its attempt. */
export class DrainError extends MillraceError {
  static override readonly name: string = 'DrainError';
  readonly code = 'drain';
}

/** `ctx.transaction` was called a second time, or after the attempt; it is the completion, so it can run only once. */
export class TransactionUsedError extends MillraceError {
  static override readonly name: string = 'TransactionUsedError';
  readonly code = 'transaction_used';
}

/** A kind that the given contracts do not have; in TypeScript it does not compile. */
export class UnknownKindError extends MillraceError {
  static override readonly name: string = 'UnknownKindError';
  readonly code = 'unknown_kind';
}

/** The idempotency key of an enqueued job stands for one of the same kind with another payload. */
export class IdempotencyKeyReusedError extends MillraceError {
  static override readonly name: string = 'IdempotencyKeyReusedError';
  readonly code = 'idempotency_key_reused';
  /** Places in the batch, from 0, of all jobs whose key is taken so; 0 if it was one job. */
  readonly indexes: readonly number[];
  constructor(message: string, indexes: readonly number[], options?: ErrorOptions) {
    super(message, options);
    this.indexes = indexes;
  }
  /** The first of them. */
  get index(): number {
    return this.indexes[0] ?? 0;
  }
}

/** A value that jsonb cannot hold. Refused before it is sent, so that no statement and no transaction fails on it. */
export class UnstorableError extends MillraceError {
  static override readonly name: string = 'UnstorableError';
  readonly code = 'unstorable';
  /** JSON pointer (RFC 6901) to the value. */
  readonly pointer: string;
  constructor(pointer: string, problem: string, options?: ErrorOptions) {
    super(`${pointer || 'the value'} ${problem}`, options);
    this.pointer = pointer;
  }
}

/** Seconds that a job can be put off. */
export function isDelay(seconds: unknown): seconds is number {
  return typeof seconds === 'number' && seconds >= 0 && seconds <= MAX_AHEAD_SECONDS;
}

function wholeDelay(name: string, seconds: number): number {
  if (isDelay(seconds)) return seconds;
  throw new RangeError(`${name} takes seconds from 0 to ${MAX_AHEAD_SECONDS} (ten years), not ${String(seconds)}`);
}
