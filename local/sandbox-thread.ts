import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { besideThis } from './beside.ts';
import type { Ending, Invocation, LocalFunction, OnLine } from './function.ts';
import { INIT_SECONDS } from './init-seconds.ts';
import { deferred } from './promise.ts';

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

/** Milliseconds between looks at whether a thread is idle that is no longer wanted. */
const LOOK_MS = 100;

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
    const thread = this.#thread();
    const ending = await thread.invoke(event, requestId);
    if (ending.kind === 'timed out') void this.#retire(thread);
    return ending;
  }

  /** Takes no more invocations; resolves when those under way are answered or their time is up, and the thread is gone. */
  async retire(): Promise<void> {
    if (this.#current !== undefined) await this.#retire(this.#current);
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

  /** An invocation that ran too long must be killed; its neighbours get the time until theirs is up. */
  async #retire(thread: Thread): Promise<void> {
    if (this.#current === thread) this.#current = undefined;
    this.#retiring.add(thread);
    await thread.idle();
    this.#retiring.delete(thread);
    await thread.end();
  }
}

class Thread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, { deadline: number; resolve: (ending: Ending) => void }>();
  readonly #timeoutMs: number;
  #lastId = 0;
  readonly #loaded = deferred<void>();
  /** Invocations that wait for it. */
  #awaited = 0;
  #died: string | undefined;

  constructor(fn: LocalFunction, onLine: OnLine) {
    this.#timeoutMs = fn.timeoutSeconds * 1000;
    const data: ThreadData = { directory: fn.directory, handler: fn.handler };
    this.#worker = new Worker(besideThis('sandbox-thread-main'), {
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
    // As Lambda does: one that takes longer is loaded once more, within its timeout.
    const seconds = INIT_SECONDS + fn.timeoutSeconds;
    const tooLong = setTimeout(() => {
      this.#die(`SIGKILL, since it was not loaded within ${seconds} s`);
      void this.end();
    }, seconds * 1000).unref();
    void this.#loaded.promise.then(() => clearTimeout(tooLong));
    this.#worker.on('message', (message: FromThread) => {
      if (message === 'loaded') this.#loaded.resolve();
      else this.#settle(message.id, message.ending);
    });
    this.#worker.on('error', (error) => this.#die(String((error as Error).stack ?? error)));
    this.#worker.on('exit', (code) => this.#die(`exit code ${code}`));
  }

  async invoke(event: unknown, requestId: string): Promise<Ending> {
    // As in Lambda the timeout is for the handler: loading the bundle does not count.
    this.#awaited += 1;
    await this.#loaded.promise;
    this.#awaited -= 1;
    if (this.#died !== undefined) return { kind: 'died', how: this.#died };
    const { promise, resolve } = deferred<Ending>();
    const deadline = Date.now() + this.#timeoutMs;
    this.#lastId += 1;
    this.#pending.set(this.#lastId, { deadline, resolve });
    const invocation: Invocation = { event, requestId, deadline };
    this.#worker.postMessage({ id: this.#lastId, invocation } satisfies ToThread);
    const timer = setTimeout(() => resolve({ kind: 'timed out' }), this.#timeoutMs);
    const ending = await promise;
    clearTimeout(timer);
    return ending;
  }

  get ended(): boolean {
    return this.#died !== undefined;
  }

  get inFlight(): number {
    return this.#awaited + this.#pending.size;
  }

  /** Resolves when nothing is under way whose deadline has not passed. */
  async idle(): Promise<void> {
    while (!this.ended) {
      const left = Math.max(0, ...[...this.#pending.values()].map(({ deadline }) => deadline - Date.now()));
      if (left === 0 && this.#awaited === 0) return;
      await sleep(Math.min(left || LOOK_MS, LOOK_MS), undefined, { ref: false });
    }
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
