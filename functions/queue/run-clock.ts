import { DRAIN_MARGIN_SECONDS } from './fits.ts';

/** Seconds. A statement that takes longer is given up with its connection. */
const STATEMENT_SECONDS = 10;
/** Milliseconds before the deadline at which everything ends, answered or not. */
const LAST_MS = 250;
/** Milliseconds. Far more than statements take, also those that wait for somebody's lock (around-blocked.ts). */
const SHORT_MS = 1_000;
/** A deadline may move (a laptop that slept), so it is looked at again so often. Also keeps delays within what timers hold. */
const LOOK_AGAIN_MS = 1_000;

/** How much time a run has. Its own timers, so that neither a hanging statement nor a busy pool can make it late. */
export class RunClock {
  readonly #hostRemainingMs: () => number;
  readonly #startedAt = performance.now();
  readonly #endsAt: number;
  readonly #end = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #statementMs: number;
  #drainedBy = Infinity;

  /** `remainingMs`: as the host knows it. */
  constructor(remainingMs: () => number, statementSeconds = STATEMENT_SECONDS) {
    this.#hostRemainingMs = remainingMs;
    this.#endsAt = this.#startedAt + remainingMs();
    this.#statementMs = statementSeconds * 1000;
    this.#whenRemaining(LAST_MS, () => this.#end.abort());
  }

  /** A host tells it by the wall clock, which may be set back meanwhile: it is never more than it was at first, less what has passed. */
  get remainingMs(): number {
    return Math.min(this.#hostRemainingMs(), Math.min(this.#endsAt, this.#drainedBy) - performance.now());
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  /** Aborts when there is no time left for anything. */
  get end(): AbortSignal {
    return this.#end.signal;
  }

  /** What a statement that starts now may take. */
  readonly statementMs = (): number => Math.max(1, Math.min(this.#statementMs, this.remainingMs - LAST_MS));

  /** Whether a statement had next to no time because the run ends: that it was not answered says nothing of the database. */
  isShort(timeoutMs: number): boolean {
    return timeoutMs < Math.min(this.#statementMs, SHORT_MS);
  }

  /** Calls back when only the time for draining is left. */
  onDrainMargin(callback: () => void): void {
    this.#whenRemaining(DRAIN_MARGIN_SECONDS * 1000, callback);
  }

  /** From now on only the time for draining is left. */
  drainNow(): void {
    this.#drainedBy = Math.min(this.#drainedBy, performance.now() + DRAIN_MARGIN_SECONDS * 1000);
    this.#whenRemaining(LAST_MS, () => this.#end.abort());
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #whenRemaining(ms: number, callback: () => void): void {
    const left = this.remainingMs - ms;
    if (left <= 0) {
      callback();
      return;
    }
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#whenRemaining(ms, callback);
      },
      Math.min(left, LOOK_AGAIN_MS),
    );
    this.#timers.add(timer);
  }
}
