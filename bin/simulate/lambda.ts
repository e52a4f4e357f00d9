import type { Profile } from './profile.ts';

/** A sandbox of a function. */
export interface Sandbox {
  /** Its start included. */
  readonly invokedAt: number;
  /** Seconds that its start takes; 0: it was there. */
  readonly coldSeconds: number;
}

/** Starts sandboxes and keeps them for a while; counts what is billed. One function of an account. */
export class Lambda {
  readonly counts = { invocations: 0, cold: 0, throttled: 0 };
  billedSeconds = 0;
  mostRunning = 0;
  readonly #running = new Set<Sandbox>();
  /** Since when each waits for something to do, the last one last: Lambda takes that one first. */
  readonly #idleSince: number[] = [];
  readonly #profile: Profile;
  readonly #memory: number;

  /** `memory`: MiB. */
  constructor(profile: Profile, memory = profile.memory) {
    this.#profile = profile;
    this.#memory = memory;
  }

  /** `undefined`: the account runs as many as it may. */
  invoke(now: number): Sandbox | undefined {
    if (this.#running.size >= this.#profile['account-concurrency']) {
      this.counts.throttled++;
      return undefined;
    }
    const sandbox = { invokedAt: now, coldSeconds: this.#isWarm(now) ? 0 : this.#profile['cold-ms'] / 1000 };
    this.#running.add(sandbox);
    if (now < 0) return sandbox;
    this.mostRunning = Math.max(this.mostRunning, this.#running.size);
    this.counts.invocations++;
    if (sandbox.coldSeconds > 0) this.counts.cold++;
    return sandbox;
  }

  /** Its invocation has ended. A sandbox that died is not used again. */
  ended(sandbox: Sandbox, now: number, died = false): void {
    this.#running.delete(sandbox);
    this.#bill(sandbox, now);
    if (!died) this.#idleSince.push(now);
  }

  /** The time that is looked at is over: what still runs is billed until then. */
  close(now: number): void {
    for (const sandbox of this.#running) this.#bill(sandbox, now);
  }

  #isWarm(now: number): boolean {
    const since = this.#idleSince.pop();
    if (since !== undefined && now - since <= 60 * this.#profile['warm-minutes']) return true;
    // The others are older.
    this.#idleSince.length = 0;
    return false;
  }

  /** By the millisecond, rounded up. */
  #bill({ invokedAt }: Sandbox, until: number): void {
    this.billedSeconds += Math.max(0, Math.ceil((until - Math.max(0, invokedAt)) * 1000 - 1e-6) / 1000);
  }

  get gibibyteSeconds(): number {
    return (this.billedSeconds * this.#memory) / 1024;
  }
}
