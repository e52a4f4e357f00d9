import { here, type Said } from './here.ts';
import { vi, type Way, test as withFront } from './ways.ts';

export { describe, expect, vi, WAYS, type Way } from './ways.ts';

/** `look`: a command line that leaves no row in operator_log, on this test's database, one way or the other. */
export const test = withFront.extend('look', async ({ front }, { onCleanup }) => {
  vi.stubEnv('MILLRACE_TOKEN', 'operator');
  onCleanup(() => void vi.unstubAllEnvs());
  return (way: Way, ...args: string[]): Promise<Said> =>
    here(...args, ...(way === 'http' ? ['--url', front.url] : ['--sql']));
});
