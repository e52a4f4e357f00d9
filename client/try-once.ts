import { type Failure, timedOut, unreachable } from './failure.ts';
import { TIME_UP, within } from './limit.ts';
import { camelCased } from './names.ts';
import type { Settings } from './options.ts';
import { garbage, parsed, refusal } from './refusal.ts';
import type { Call } from './request.ts';

type Answer<T> = { readonly value: T } | { readonly failure: Failure };

/** One try. @throws the signal's reason, or what `sign` threw */
export async function tryOnce<T>(
  settings: Settings,
  call: Call<T>,
  build: () => Request,
  { ms, signal }: { ms: number; signal: AbortSignal | undefined },
): Promise<Answer<T>> {
  try {
    return await within(ms, signal, async (inTime) => {
      const request = await settings.sign(build());
      return exchange(settings, call, request, inTime);
    });
  } catch (reason) {
    if (reason === TIME_UP) return { failure: timedOut(ms / 1000) };
    throw reason;
  }
}

async function exchange<T>(
  settings: Settings,
  call: Call<T>,
  request: Request,
  signal: AbortSignal,
): Promise<Answer<T>> {
  let response: Response;
  let text: string;
  try {
    // Both are said here: a signer gives back a request of its own making. A redirect would take the token elsewhere.
    response = await settings.fetch(request, { signal, redirect: 'manual' });
    text = await response.text();
  } catch (error) {
    return { failure: unreachable(error, settings.base) };
  }
  if (!response.ok) return { failure: refusal(response, text) };
  try {
    const body = call.isText ? text : camelCased(parsed(text));
    return { value: call.read(body as never, response.headers) };
  } catch {
    return { failure: garbage(response, text) };
  }
}
