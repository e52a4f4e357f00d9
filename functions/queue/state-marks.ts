import type { Db } from './db.ts';
import { ISO } from './iso.ts';
import { leaseIn } from './lease-in.ts';
import { elapsedMs, type Moment, moment } from './moment.ts';
import { type Slice, TimeSlices } from './time-slices.ts';

/** Milliseconds from one round behind the marks to the next. */
const BEHIND_EACH_MS = 600_000;
/** Milliseconds from which on a look at the state has no further slice of it. */
const BEHIND_MS = 50;

/** SQL: for so long a transaction that puts jobs in, claims or settles may be open and be seen by a look that begins at a mark. */
export const COMMIT = `interval '15 seconds'`;

const PENDING_IN = `
SELECT m.kind, to_char(first.run_at AT TIME ZONE 'UTC', ${ISO}) AS "runAt"
FROM unnest($1::text[], $2::timestamptz[]) m(kind, until)
CROSS JOIN LATERAL millrace.first_pending(m.kind, $3::timestamptz, least(m.until, $4::timestamptz)) first`;

/** What a look has seen, by the database's clock: ISO 8601 in UTC with microseconds. */
export interface Seen {
  /** When it was made. */
  readonly at: string;
  /** Of each kind that it looked at: nothing of it is pending with an earlier `run_at`. */
  readonly pending: Readonly<Record<string, string | null>>;
  /** No lease that is running ends earlier. Undefined or null: it did not look for them. */
  readonly leases?: string | null;
}

type MarkParameters = [at: string | null, kinds: string[], marks: string[], leaseMark: string | null];

/**
 * Where the looks at the state of the queue begin that one process makes, one after the other: where the last one found the first
 * job, less the time for which a transaction that puts jobs in may be open. A look from the beginning walks all that has flowed by
 * since vacuum could last clear it away; it is made first, and where the database's clock was set back. What lies behind the marks
 * all the same is looked for in slices (time-slices.ts), some with each look, until a round is through.
 */
export class StateMarks {
  readonly #behindEachMs: number;
  readonly #pending = new Map<string, string>();
  #leases: string | undefined;
  #at: string | undefined;
  /** When the last round was begun. */
  #behindAt: Moment | undefined;
  #behind: TimeSlices | undefined;

  constructor(behindEachMs = BEHIND_EACH_MS) {
    this.#behindEachMs = behindEachMs;
  }

  /** Parameters of the statements: when the last look was made, kinds, their marks, and that of the leases. */
  parameters(): MarkParameters {
    return [this.#at ?? null, [...this.#pending.keys()], [...this.#pending.values()], this.#leases ?? null];
  }

  /** `begun`: with which parameters. What has moved a mark since then knows more, be it another look or one behind the marks. */
  saw({ at, pending, leases }: Seen, [, kinds, marks, leaseMark]: MarkParameters): void {
    this.#at = at;
    this.#behindAt ??= moment();
    const begun = new Map(kinds.map((kind, i) => [kind, marks[i]]));
    for (const [kind, mark] of Object.entries(pending)) {
      if (mark !== null && this.#pending.get(kind) === begun.get(kind)) this.#pending.set(kind, mark);
    }
    if (leases != null && this.#leases === (leaseMark ?? undefined)) this.#leases = leases;
  }

  /** To be called before each look: it begins earlier where something lies behind the marks. */
  async lookBehind(db: Db): Promise<void> {
    if (!this.#behind) {
      if (!this.#behindAt || elapsedMs(this.#behindAt) < this.#behindEachMs) return;
      this.#behindAt = moment();
      this.#behind = new TimeSlices([...this.#pending.values(), ...(this.#leases === undefined ? [] : [this.#leases])]);
    }
    const behind = this.#behind;
    const latest = performance.now() + BEHIND_MS;
    while (!behind.done && performance.now() < latest) await behind.next((slice) => this.#lookIn(db, slice));
    if (behind.done) this.#behind = undefined;
  }

  async #lookIn(db: Db, slice: Slice): Promise<true> {
    const of = [[...this.#pending.keys()], [...this.#pending.values()], slice.from, slice.until];
    const { rows } = await db.query<{ kind: string; runAt: string }>(PENDING_IN, of);
    for (const { kind, runAt } of rows) this.#pending.set(kind, runAt);
    const lease = this.#leases === undefined ? undefined : await leaseIn(db, slice);
    if (this.#leases !== undefined && lease !== undefined && lease < this.#leases) this.#leases = lease;
    return true;
  }
}
