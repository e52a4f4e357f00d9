import { ApiError } from './api-error.ts';
import { getCall, readJob } from './get.ts';
import type { JobWith, Part, Status } from './job.ts';
import { milliseconds, sleep } from './limit.ts';
import type { CallOptions } from './options.ts';
import type { Call } from './request.ts';
import { retryAfterSeconds } from './retry-after.ts';

/** A job that has ended, whether well or not. */
export type Ended<P extends Part> = JobWith<P> & { readonly status: 'completed' | 'dead' | 'cancelled' };

export interface WaitOptions<P extends Part> extends CallOptions {
  /** Seconds until the job must have ended, above 0 and at most 86,400. Default 300. */
  readonly timeoutSeconds?: number | undefined;
  /** Default: the result. A token with the role `producer` may see neither: give []. */
  readonly include?: readonly P[] | undefined;
}

type Send = <T>(call: Call<T>, options: CallOptions) => Promise<T>;

/** Seconds that the API holds an answer at most. */
const HOLD_SECONDS = 20;
/** Seconds from one look to the next if the API does not hold the answer. */
const APART_SECONDS = 1;
/** So long before its time is up it looks for the last time, closer to the look before it than usual. */
const LAST_LOOK_MS = 250;

/** Looks until the job has ended. After the first look nothing but the time ends it: a failover in between is sat out. */
export async function waitFor<P extends Part>(
  send: Send,
  id: string,
  { timeoutSeconds = 300, include, ...options }: WaitOptions<P>,
): Promise<Ended<P>> {
  const endsAt = performance.now() + milliseconds('timeoutSeconds', timeoutSeconds);
  const requestId = options.requestId ?? crypto.randomUUID();
  for (let look = 1; ; look++) {
    const beganAt = performance.now();
    const left = (endsAt - beganAt) / 1000;
    const call = waitCall(id, include ?? (['result'] as P[]), Math.min(HOLD_SECONDS, Math.floor(left)), look > 1);
    const { job, retryAfter } = await send(call, { ...options, requestId, timeoutSeconds: left });
    if (isEnded(job.status)) return job as Ended<P>;
    const waitMs = Math.max(retryAfter * 1000, APART_SECONDS * 1000 - (performance.now() - beganAt));
    const spareMs = endsAt - LAST_LOOK_MS - performance.now();
    if (spareMs <= 0 || retryAfter * 1000 > spareMs) {
      const detail = `The job has not ended within ${timeoutSeconds} s, it is ${job.status}: wait longer, or look again later.`;
      throw new ApiError(
        { code: 'timed-out', detail, again: false },
        { method: call.method, path: call.path, requestId, tries: look },
      );
    }
    await sleep(Math.min(waitMs, spareMs), options.signal);
  }
}

function isEnded(status: Status): boolean {
  return status === 'completed' || status === 'dead' || status === 'cancelled';
}

function waitCall<P extends Part>(id: string, include: readonly P[], wait: number, patient: boolean) {
  const call = getCall(id, include);
  return {
    ...call,
    query: { ...call.query, wait },
    holdSeconds: wait,
    ...(patient && { retries: Number.POSITIVE_INFINITY }),
    read: (job: JobWith<P>, headers: Headers) => ({ job: readJob(job), retryAfter: retryAfterSeconds(headers) ?? 0 }),
  } satisfies Call<unknown>;
}
