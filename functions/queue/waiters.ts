import type { JobId } from './job.ts';
import type { Look } from './look.ts';

/** Milliseconds from one look to the next, whoever waits: four statements a second. */
const LOOK_MS = 250;
/** Who may wait in one process at once. */
const MAX_WAITERS = 100;
/** Connections of one database that may wait at once: in Lambda each is a function that is paid for and does nothing. */
const MAX_WAITING = 20;

/** `crowded`: too many wait, here or on this database. */
export type Waited = 'ended' | 'time is up' | 'crowded';

interface Waiter {
  readonly id: JobId;
  readonly since: number;
  readonly ms: number;
  readonly leave: (waited: Waited) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Those of a process who wait for a job to end. While there are any, one look each 250 ms is made for all of them, and none
 * while another is under way; when the last one leaves, no timer stays.
 * Times are those of the wall clock, which goes on in a frozen sandbox: what thaws too late leaves without another look.
 */
export class Waiters {
  readonly #look: (ids: JobId[]) => Promise<Look>;
  readonly #waiters = new Set<Waiter>();
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;
  #isLooking = false;

  /** `look`: see look.ts. */
  constructor(look: (ids: JobId[]) => Promise<Look>) {
    this.#look = look;
  }

  /**
   * Resolves once the job has ended or is gone, or after `ms`.
   * @throws what `look` throws, to everybody it was made for; the signal's reason once it aborts
   */
  async wait(id: JobId, ms: number, signal: AbortSignal): Promise<Waited> {
    signal.throwIfAborted();
    if (this.#waiters.size >= MAX_WAITERS) return 'crowded';
    return new Promise((resolve, reject) => {
      const gone = () => {
        signal.removeEventListener('abort', abort);
        this.#waiters.delete(waiter);
        this.#arm();
      };
      const leave = (waited: Waited) => {
        gone();
        resolve(waited);
      };
      const fail = (error: unknown) => {
        gone();
        reject(error);
      };
      const abort = () => fail(signal.reason);
      const waiter = { id, since: Date.now(), ms, leave, fail };
      signal.addEventListener('abort', abort);
      this.#waiters.add(waiter);
      this.#arm();
    });
  }

  /** Sets the one timer to what comes next: a look, or the end of somebody's time. */
  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#waiters.size === 0) return;
    const rests = [...this.#waiters].map(rest);
    if (!this.#isLooking) rests.push(LOOK_MS - since(this.#lookedAt));
    this.#timer = setTimeout(() => this.#next(), Math.max(0, Math.min(...rests)));
  }

  #next(): void {
    for (const waiter of [...this.#waiters].filter((one) => rest(one) <= 0)) waiter.leave('time is up');
    if (this.#waiters.size > 0 && !this.#isLooking && since(this.#lookedAt) >= LOOK_MS) void this.#lookAround();
    this.#arm();
  }

  async #lookAround(): Promise<void> {
    this.#lookedAt = Date.now();
    this.#isLooking = true;
    const asking = [...this.#waiters];
    try {
      const { ended, ahead } = await this.#look([...new Set(asking.map(({ id }) => id))]);
      for (const { id, leave } of asking) {
        if (ended.includes(id)) leave('ended');
        else if (ahead >= MAX_WAITING) leave('crowded');
      }
    } catch (error) {
      for (const { fail } of asking) fail(error);
    } finally {
      this.#isLooking = false;
      this.#arm();
    }
  }
}

function rest({ since: began, ms }: Waiter): number {
  return ms - since(began);
}

function since(time: number): number {
  return Math.abs(Date.now() - time);
}
