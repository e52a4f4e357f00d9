import type { Context } from './context.ts';
import { MillraceError } from './errors.ts';

/**
 * What runs around each processor of a worker: traces, error reports, tenants. It is given `ctx.job`, and `next`, which reads
 * the payload and runs what lies inside: the next middleware, at last the processor. `next` resolves with the result and
 * rejects with what was thrown (a PayloadError, too); what the middleware returns or throws goes in place of it, and decides
 * about the job. One that does not call `next` skips the processor. All of it counts against the kind's `timeoutSeconds`.
 */
export type Middleware = (job: Context['job'], next: () => Promise<unknown>, ctx: Context) => unknown;

/** A middleware called `next` a second time, or after it had ended. The processor runs once an attempt. */
export class NextUsedError extends MillraceError {
  static override readonly name: string = 'NextUsedError';
  readonly code = 'next_used';
}

/** Runs `processor` within the middleware, the first outermost. */
export async function within(
  [outermost, ...inner]: readonly Middleware[],
  ctx: Context,
  processor: () => unknown,
): Promise<unknown> {
  if (outermost === undefined) return processor();
  let below: Promise<unknown> | undefined;
  let running = false;
  let ended = false;
  const next = (): Promise<unknown> => {
    if (below !== undefined || ended) return handled(Promise.reject(new NextUsedError(ended ? LATE : TWICE)));
    running = true;
    below = within(inner, ctx, processor).finally(() => {
      running = false;
    });
    return handled(below);
  };
  try {
    const value = await outermost(ctx.job, next, ctx);
    // One that it forgot to await decides all the same: else a job that fails would be completed, and run on besides.
    if (running) await below;
    return value;
  } catch (error) {
    if (running) await below?.catch(() => {});
    throw error;
  } finally {
    ended = true;
  }
}

const TWICE = 'a middleware called next() a second time: the processor runs once an attempt';
const LATE = 'a middleware called next() after it had ended: call and await it within the middleware';

/** Marks a promise as looked after: a middleware that does not await it must not take the process with it. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** What a processors module exports as `middleware`. @throws TypeError saying what came in place of an array of functions */
export function middlewareOf(given: unknown): readonly Middleware[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) {
    throw new TypeError(`middleware must be an array of functions (job, next, ctx) => …, not ${shown(given)}`);
  }
  const wrong = given.findIndex((one) => typeof one !== 'function');
  if (wrong === -1) return given;
  throw new TypeError(`middleware[${wrong}] must be a function (job, next, ctx) => …, not ${shown(given[wrong])}`);
}

function shown(value: unknown): string {
  return value === null ? 'null' : typeof value === 'function' ? 'a function' : `of type ${typeof value}`;
}
