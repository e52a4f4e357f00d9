import type { Ending, LocalFunction, OnLine } from './function.ts';
import { ThreadSandbox } from './sandbox-thread.ts';

/** The sandboxes of the HTTP functions. */
export class Threads {
  readonly #onLine: OnLine;
  readonly #sandboxes = new Map<LocalFunction, ThreadSandbox>();
  readonly #retired = new Set<ThreadSandbox>();

  constructor(onLine: OnLine) {
    this.#onLine = onLine;
  }

  warm(functions: readonly LocalFunction[]): void {
    for (const fn of functions) this.#sandbox(fn).warm();
  }

  readonly invoke = (fn: LocalFunction, event: unknown, requestId: string): Promise<Ending> =>
    this.#sandbox(fn).invoke(event, requestId);

  /** From now on these are invoked. What is under way in others is answered first. */
  replace(functions: readonly LocalFunction[]): void {
    const kept = new Set(functions);
    for (const [fn, sandbox] of this.#sandboxes) {
      if (kept.has(fn)) continue;
      this.#sandboxes.delete(fn);
      this.#retired.add(sandbox);
      void sandbox.retire().then(() => this.#retired.delete(sandbox));
    }
    this.warm(functions);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sandboxes.values(), ...this.#retired].map((sandbox) => sandbox.close()));
  }

  #sandbox(fn: LocalFunction): ThreadSandbox {
    const sandbox = this.#sandboxes.get(fn) ?? new ThreadSandbox(fn, this.#onLine);
    this.#sandboxes.set(fn, sandbox);
    return sandbox;
  }
}
