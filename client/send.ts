import { ApiError } from './api-error.ts';
import { backoffMs } from './backoff.ts';
import { milliseconds, sleep } from './limit.ts';
import type { CallOptions, Settings } from './options.ts';
import { type Call, prepare } from './request.ts';
import { tryOnce } from './try-once.ts';

/**
 * Carries a call through: tries until there is an answer, the tries or the time are used up, or the signal aborts.
 * Every try is the same request, ids and keys included, so the API does its work once.
 * @throws ApiError, the signal's reason, or what `sign` threw
 */
export async function send<T>(settings: Settings, call: Call<T>, options: CallOptions = {}): Promise<T> {
  const { signal, timeoutSeconds } = options;
  const { requestId, build } = prepare(settings, call, options);
  const { retries = settings.retries } = call;
  const limitMs = timeoutSeconds === undefined ? settings.timeoutMs : milliseconds('timeoutSeconds', timeoutSeconds);
  const endsAt = performance.now() + limitMs;
  for (let tries = 1; ; tries++) {
    const ms = Math.min(settings.tryTimeoutMs + (call.holdSeconds ?? 0) * 1000, endsAt - performance.now());
    const answer = await tryOnce(settings, call, build, { ms, signal });
    if ('value' in answer) return answer.value;
    const { failure } = answer;
    const waitMs = backoffMs(tries, failure.retryAfterSeconds);
    const isLast = !failure.again || tries > retries || performance.now() + waitMs >= endsAt;
    if (isLast) throw new ApiError(failure, { method: call.method, path: call.path, requestId, tries });
    await sleep(waitMs, signal);
  }
}
