import type { Ending, LocalFunction, OnLine } from './function.ts';
import { type RunningProcess, startProcess } from './sandbox-process.ts';

/** Seconds that draining processes get. A worker aborts its jobs after 2 s of grace and then has their rows to write. */
const DRAIN_SECONDS = 15;

/** The processes of scheduled functions that run now. */
export class Processes {
  readonly #onLine: OnLine;
  readonly #onWorkers: (pids: number[]) => void;
  readonly #running = new Map<RunningProcess, { fn: LocalFunction; worker: boolean }>();
  readonly #replaced = new Set<RunningProcess>();

  /** `onWorkers` hears the pids of the worker's processes whenever they change. */
  constructor(onLine: OnLine, onWorkers: (pids: number[]) => void) {
    this.#onLine = onLine;
    this.#onWorkers = onWorkers;
  }

  start(fn: LocalFunction, event: unknown): { ended: Promise<Ending> } {
    const running = startProcess(fn, event, this.#onLine);
    const worker = isWorkerEvent(event);
    this.#running.set(running, { fn, worker });
    if (worker) this.#tell();
    const ended = running.ended.finally(() => {
      this.#running.delete(running);
      if (worker) this.#tell();
    });
    return { ended: ended.then((ending) => (this.#replaced.delete(running) ? asReplaced(ending) : ending)) };
  }

  /**
   * Asks the workers that run these to drain, and resolves when they are gone. None is killed for it: a job whose processor
   * does not listen would lose an attempt. Other functions end by themselves.
   */
  async replace(functions: ReadonlySet<LocalFunction>): Promise<void> {
    const old = [...this.#running].flatMap(([running, { fn, worker }]) =>
      worker && functions.has(fn) ? [running] : [],
    );
    for (const running of old) {
      this.#replaced.add(running);
      running.drain();
    }
    await Promise.all(old.map(({ ended }) => ended));
  }

  /** Asks all of them to drain and resolves when none is left; what still runs after 15 s is killed. */
  async drain(): Promise<{ killed: number }> {
    let killed = 0;
    const timer = setTimeout(() => {
      killed = this.#running.size;
      this.hurry();
    }, DRAIN_SECONDS * 1000);
    for (const running of this.#running.keys()) running.drain();
    await Promise.all([...this.#running.keys()].map(({ ended }) => ended));
    clearTimeout(timer);
    return { killed };
  }

  hurry(): void {
    for (const running of this.#running.keys()) running.kill();
  }

  #tell(): void {
    this.#onWorkers([...this.#running].flatMap(([{ pid }, { worker }]) => (worker ? [pid] : [])));
  }
}

/** One that was still loading knows no drain yet, and has claimed nothing. */
function asReplaced(ending: Ending): Ending {
  return ending.kind === 'died' && ending.how === 'signal SIGTERM' ? { kind: 'returned', json: 'null' } : ending;
}

/** A tick of the worker says which place of the fleet it fills. */
function isWorkerEvent(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'slot' in event;
}
