import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Resolves what `work` resolves if that takes no longer than so many milliseconds.
 * @param work is given a signal that aborts when nobody waits for it any more
 * @throws Error of the sentence if it takes longer, or what `work` throws
 */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>, sentence: string): Promise<T> {
  const over = new AbortController();
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error(sentence);
  });
  try {
    return await Promise.race([work(over.signal), late]);
  } finally {
    over.abort();
    late.catch(() => {});
  }
}
