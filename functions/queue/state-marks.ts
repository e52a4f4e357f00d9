import { elapsedMs, type Moment, moment } from './moment.ts';

/** Milliseconds. What a look that begins at a mark cannot see is seen that late. */
const BEGINNING_EACH_MS = 600_000;

/** SQL: for so long a transaction that puts jobs in, claims or settles may be open and be seen by a look that begins at a mark. */
export const COMMIT = `interval '15 seconds'`;

/** What a look has seen, by the database's clock: ISO 8601 in UTC with microseconds. */
export interface Seen {
  /** When it was made. */
  readonly at: string;
  /** Of each kind that it looked at: nothing of it is pending with an earlier `run_at`. */
  readonly pending: Readonly<Record<string, string | null>>;
  /** No lease that is running ends earlier. Undefined: it did not look for them. */
  readonly leases?: string | null;
}

/**
 * Where the looks at the state of the queue begin that one process makes, one after the other: where the last one found the first
 * job, less the time for which a transaction that puts jobs in may be open. A look from the beginning walks all that has flowed by
 * since vacuum could last clear it away; it is made first, once in ten minutes, and where the database's clock was set back.
 */
export class StateMarks {
  readonly #beginningEachMs: number;
  readonly #pending = new Map<string, string>();
  #leases: string | undefined;
  #at: string | undefined;
  #begunAt: Moment | undefined;

  constructor(beginningEachMs = BEGINNING_EACH_MS) {
    this.#beginningEachMs = beginningEachMs;
  }

  /** Parameters of the statements: when the last look was made, kinds, their marks, and that of the leases. */
  parameters(): [at: string | null, kinds: string[], pending: string[], leases: string | null] {
    if (!this.#begunAt || elapsedMs(this.#begunAt) >= this.#beginningEachMs) {
      this.#begunAt = moment();
      this.#pending.clear();
      this.#leases = undefined;
    }
    return [this.#at ?? null, [...this.#pending.keys()], [...this.#pending.values()], this.#leases ?? null];
  }

  saw({ at, pending, leases }: Seen): void {
    this.#at = at;
    for (const [kind, mark] of Object.entries(pending)) if (mark !== null) this.#pending.set(kind, mark);
    if (leases != null) this.#leases = leases;
  }
}
