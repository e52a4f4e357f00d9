import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import type { Ending, Invocation, LocalFunction, OnLine } from './function.ts';

export interface ThreadData {
  readonly directory: string;
  readonly handler: string;
}
export interface ToThread {
  readonly id: number;
  readonly invocation: Invocation;
}
/** `loaded` once, then an answer for each invocation. */
export type FromThread = 'loaded' | { readonly id: number; readonly ending: Ending };

/**
 * An HTTP function in a thread of its own, with its own environment and heap limit. Unlike in Lambda several invocations
 * may be under way in it at once, and one that takes the thread with it ends the others too. After a timeout or a crash
 * the next invocation gets a fresh thread.
 */
export class ThreadSandbox {
  readonly #fn: LocalFunction;
  readonly #onLine: OnLine;
  #current: Thread | undefined;
  readonly #retiring = new Set<Thread>();

  constructor(fn: LocalFunction, onLine: OnLine) {
    this.#fn = fn;
    this.#onLine = onLine;
  }

  /** Loads the bundle now, so that the first request does not wait for it. */
  warm(): void {
    this.#thread();
  }

  get inFlight(): number {
    return [this.#current, ...this.#retiring].reduce((sum, thread) => sum + (thread?.inFlight ?? 0), 0);
  }

  async invoke(event: unknown, requestId: string): Promise<Ending> {
    const timeoutMs = this.#fn.timeoutSeconds * 1000;
    const thread = this.#thread();
    // As in Lambda the timeout is for the handler: loading the bundle does not count.
    await thread.loaded;
    const { promise: timedOut, resolve } = Promise.withResolvers<Ending>();
    const timer = setTimeout(() => resolve({ kind: 'timed out' }), timeoutMs);
    const ending = await Promise.race([
      thread.invoke({ event, requestId, deadline: Date.now() + timeoutMs }),
      timedOut,
    ]);
    clearTimeout(timer);
    if (ending.kind === 'timed out') this.#retire(thread);
    return ending;
  }

  /** Ends every thread, whatever it does. */
  async close(): Promise<void> {
    const threads = [this.#current, ...this.#retiring];
    this.#current = undefined;
    await Promise.all(threads.map((thread) => thread?.end()));
  }

  #thread(): Thread {
    if (this.#current === undefined || this.#current.ended) this.#current = new Thread(this.#fn, this.#onLine);
    return this.#current;
  }

  /** The invocation that ran too long must be killed; its neighbours get the time until theirs is up. */
  #retire(thread: Thread): void {
    if (this.#current === thread) this.#current = undefined;
    this.#retiring.add(thread);
    setTimeout(() => {
      this.#retiring.delete(thread);
      void thread.end();
    }, thread.idleIn()).unref();
  }
}

class Thread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, { deadline: number; resolve: (ending: Ending) => void }>();
  #lastId = 0;
  readonly #loaded = Promise.withResolvers<void>();
  #died: string | undefined;

  constructor(fn: LocalFunction, onLine: OnLine) {
    const data: ThreadData = { directory: fn.directory, handler: fn.handler };
    this.#worker = new Worker(new URL('./sandbox-thread-main.ts', import.meta.url), {
      name: fn.name,
      workerData: data,
      // Options of a whole process in it would be refused; the one that the stack sets is given below.
      env: { ...fn.environment, NODE_OPTIONS: '' },
      execArgv: ['--enable-source-maps'],
      resourceLimits: { maxOldGenerationSizeMb: Math.floor(fn.memoryMegabytes * 0.9) },
      stdout: true,
      stderr: true,
    });
    for (const input of [this.#worker.stdout, this.#worker.stderr]) {
      createInterface({ input }).on('line', (line) => onLine(fn, line));
    }
    this.#worker.on('message', (message: FromThread) => {
      if (message === 'loaded') this.#loaded.resolve();
      else this.#settle(message.id, message.ending);
    });
    this.#worker.on('error', (error) => this.#die(String((error as Error).stack ?? error)));
    this.#worker.on('exit', (code) => this.#die(`exit code ${code}`));
  }

  /** Resolves when the bundle is loaded, and also when it cannot be. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  invoke(invocation: Invocation): Promise<Ending> {
    if (this.#died !== undefined) return Promise.resolve({ kind: 'died', how: this.#died });
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.#lastId += 1;
    this.#pending.set(this.#lastId, { deadline: invocation.deadline, resolve });
    this.#worker.postMessage({ id: this.#lastId, invocation } satisfies ToThread);
    return promise;
  }

  get ended(): boolean {
    return this.#died !== undefined;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the last deadline of what is under way. */
  idleIn(): number {
    return Math.max(0, ...[...this.#pending.values()].map(({ deadline }) => deadline - Date.now()));
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle(id: number, ending: Ending): void {
    this.#pending.get(id)?.resolve(ending);
    this.#pending.delete(id);
  }

  #die(how: string): void {
    this.#died ??= how;
    this.#loaded.resolve();
    for (const id of this.#pending.keys()) this.#settle(id, { kind: 'died', how });
  }
}
