import { setTimeout as sleep } from 'node:timers/promises';
import { takeLock } from '../../local/lock-file.ts';

/** Makes what several test files want at once, one after the other: the first makes it, and those behind it find it there. */
export async function inTurn<T>(lock: string, make: () => Promise<T>): Promise<T> {
  const release = await turn(lock);
  return make().finally(release);
}

async function turn(lock: string): Promise<() => Promise<void>> {
  const busy = new Error('another test file is at it');
  for (;;) {
    const release = await takeLock(lock, () => busy).catch((error) => {
      if (error !== busy) throw error;
    });
    if (release) return release;
    await sleep(200);
  }
}
