/** Milliseconds. Upper bounds of the first random wait, and of any; the default of 4 retries waits 3 s at most. */
const BASE_MS = 200;
const CAP_MS = 5000;

/**
 * Milliseconds before the next try: what the server asks for, and a random part on top, so that clients do not come all
 * at once.
 */
export function backoffMs(tries: number, retryAfterSeconds = 0): number {
  return retryAfterSeconds * 1000 + Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** (tries - 1));
}
