import type { Context } from '../queue/context.ts';

/** Says hello, and when: `at` is what test/bench/latency.ts measures the way from the enqueue to here with. */
export function greet({ name }: { name: string }, { log }: Context) {
  const at = new Date().toISOString();
  log.info(`Hello, ${name}!`);
  return { greeting: `Hello, ${name}!`, at };
}
