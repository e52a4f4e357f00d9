import { setTimeout as sleep } from 'node:timers/promises';
import { reconnectDelay } from './backoff.ts';
import { faultOf } from './postgres-error.ts';

/**
 * Asks until the database answers, with pauses that grow.
 * @throws what it said last, if repeating cannot mend that, or when `until` aborts
 */
export async function persist<T>(
  ask: () => Promise<T>,
  { until, failed }: { readonly until: AbortSignal; readonly failed: (error: unknown) => void },
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      failed(error);
      const fault = faultOf(error);
      if (fault !== 'lost' && fault !== 'repeat') throw error;
      await sleep(reconnectDelay(failures), undefined, { signal: until }).catch(() => {});
      if (until.aborted) throw error;
    }
  }
}
