/** Runs both at once; when one fails the other is told to give up, and its end is awaited before the error goes on. */
export async function bothOrNeither<A, B>(
  signal: AbortSignal | undefined,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal) => Promise<B>,
): Promise<[A, B]> {
  const failed = new AbortController();
  const either = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
  const failing = (error: unknown) => {
    failed.abort(error);
    throw error;
  };
  const [a, b] = [first(either).catch(failing), second(either).catch(failing)];
  await Promise.allSettled([a, b]);
  // The reason of the first abort is the first error.
  either.throwIfAborted();
  return Promise.all([a, b]);
}
