import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError } from '../lambda/configuration-error.ts';
import { faultOf } from '../queue/postgres-error.ts';

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 5000;

/**
 * Connects to a database that may not be up yet: one that was made in the same deploy, or is starting beside us. What
 * waiting cannot mend (password, missing database, wrong settings) fails at once.
 *
 * @param seconds after which the last error is thrown. Default 60
 * @param onRetry told before each pause
 */
export async function connectPatiently<Connection>(
  connect: () => Promise<Connection>,
  { seconds = 60, onRetry = () => {} }: { seconds?: number; onRetry?: (error: Error, delayMs: number) => void } = {},
): Promise<Connection> {
  const deadline = performance.now() + seconds * 1000;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
    try {
      return await connect();
    } catch (error) {
      const hopeless = error instanceof ConfigurationError || faultOf(error) !== 'lost';
      if (hopeless || performance.now() + delayMs > deadline) throw error;
      onRetry(error as Error, delayMs);
      await sleep(delayMs);
    }
  }
}
