import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Given, Order, Told } from './protocol.ts';
import type { Used } from './system.ts';

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
}

type Answer = Extract<Told, { starts: unknown } | { used: unknown }>;

/** A worker process, as the benchmark sees it: told what to do, and heard. */
export class Member {
  /** Jobs since it began, and when the last of them was. */
  settled = 0;
  at = 0;
  onSettled = () => {};
  readonly ready: Promise<void>;
  /** Resolves with what it ended of. */
  readonly ended: Promise<Error>;
  readonly #child: ChildProcess;
  #answer: (answer: Answer) => void = () => {};

  constructor({ file, args }: Command, given: Given) {
    this.#child = spawn(file, [...args, JSON.stringify(given)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.ended = Promise.race([
      once(this.#child, 'close').then(([code, signal]) => new Error(`a worker process has ended (${signal ?? code})`)),
      once(this.#child, 'error').then(([error]) => error as Error),
    ]);
    this.ready = new Promise((resolve, reject) => {
      this.ended.then(reject);
      createInterface({ input: this.#child.stdout as NonNullable<ChildProcess['stdout']> }).on('line', (line) => {
        // A library may print something of its own.
        if (!line.startsWith('{')) return;
        const told = JSON.parse(line) as Told;
        if ('ready' in told) resolve();
        else if ('settled' in told) this.#count(told);
        else this.#answer(told);
      });
    });
    // A worker that has gone is told of by `ended`.
    this.#child.stdin?.on('error', () => {});
  }

  #count({ settled, at }: Extract<Told, { settled: number }>): void {
    this.settled = settled;
    this.at = at;
    this.onSettled();
  }

  say(order: Order): void {
    this.#child.stdin?.write(`${order}\n`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async starts(): Promise<readonly (readonly [number, number])[]> {
    const answer = await this.#ask('starts');
    return 'starts' in answer ? answer.starts : [];
  }

  async stop(): Promise<Used> {
    const answer = await this.#ask('stop');
    await this.ended;
    return 'used' in answer ? answer.used : { rssBytes: Number.NaN, cpuSeconds: Number.NaN };
  }

  #ask(order: 'starts' | 'stop'): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve;
      this.ended.then(reject);
      this.say(order);
    });
  }
}
