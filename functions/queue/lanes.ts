import type { Lane } from './lane.ts';

/** The connections of a run for its jobs' transactions. Who finds none free waits, first come first served. */
export class Lanes {
  readonly #make: () => Lane;
  readonly #all: Set<Lane>;
  readonly #free: Lane[];
  readonly #waiting: ((lane: Lane) => void)[] = [];

  constructor(size: number, make: () => Lane) {
    this.#make = make;
    this.#free = Array.from({ length: size }, make);
    this.#all = new Set(this.#free);
  }

  /** @throws the signal's reason if it aborts while waiting, which counts against the job's deadline */
  async take(signal: AbortSignal): Promise<Lane> {
    signal.throwIfAborted();
    if (this.#all.size === 0) throw new Error('this run has no connections for transactions: set `transactions`');
    const lane = this.#free.pop();
    if (lane) return lane;
    return new Promise((resolve, reject) => {
      const given = (lane: Lane) => {
        signal.removeEventListener('abort', gone);
        resolve(lane);
      };
      const gone = () => {
        this.#waiting.splice(this.#waiting.indexOf(given), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', gone, { once: true });
      this.#waiting.push(given);
    });
  }

  give(lane: Lane): void {
    const next = this.#waiting.shift();
    if (next) next(lane);
    else this.#free.push(lane);
  }

  /** Closes the lane for good, whatever runs on it, and puts a fresh one in its place. */
  replace(lane: Lane): void {
    this.#all.delete(lane);
    void lane.close();
    const fresh = this.#make();
    this.#all.add(fresh);
    this.give(fresh);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((lane) => lane.close()));
  }
}
