import type { ListedJob } from '../../client/job.ts';

/** Jobs that are remembered; those that were not seen for longest are forgotten first. */
const MAX_KNOWN = 10_000;

interface Known {
  /** Status and attempts: another attempt is news, too. */
  readonly state: string;
  readonly at: string;
}

/** Tells what changed from one look to the next. Remembers a bounded number of jobs, however long it goes on. */
export class Changes {
  readonly #max: number;
  readonly #known = new Map<string, Known>();
  /** Jobs that were pending or processing when they were last seen, the longest unseen first. */
  readonly #live = new Map<string, 'pending' | 'processing'>();
  /** What happened until then has been told of, or was there at the begin: a job that comes into view by it is no news. */
  #toldUntil = '';

  constructor(max = MAX_KNOWN) {
    this.#max = max;
  }

  /** Takes in what is there at the begin. */
  begin(seen: readonly ListedJob[]): void {
    for (const job of seen) {
      this.#tellUntil(timeOf(job));
      this.#remember(job);
    }
  }

  /** Of the jobs seen now those that are new or have become something else, the oldest first. Of one seen twice the last counts. */
  in(seen: readonly ListedJob[]): ListedJob[] {
    const changed = new Map<string, ListedJob>();
    for (const job of seen) if (this.#isNews(job)) changed.set(job.id, job);
    for (const job of seen) this.#remember(job);
    return [...changed.values()].sort((one, other) => (timeOf(one) < timeOf(other) ? -1 : 1));
  }

  /** Nothing has been seen yet. */
  get isFresh(): boolean {
    return this.#known.size === 0;
  }

  knows(id: string): boolean {
    return this.#known.has(id);
  }

  /** Jobs that had this status when last seen and are not among these; at most so many, in turn. */
  unseen(status: 'pending' | 'processing', seen: readonly ListedJob[], most: number): string[] {
    const ids = new Set(seen.map(({ id }) => id));
    const those = [...this.#live].filter(([id, was]) => was === status && !ids.has(id));
    return those.slice(0, most).map(([id]) => id);
  }

  /** It is gone: pruned, or erased. */
  forget(id: string): void {
    this.#known.delete(id);
    this.#live.delete(id);
  }

  #isNews(job: ListedJob): boolean {
    const known = this.#known.get(job.id);
    return known === undefined ? timeOf(job) > this.#toldUntil : known.state !== stateOf(job);
  }

  /** Put in anew, so that both maps are in the order of the last sight. */
  #remember(job: ListedJob): void {
    const { id, status } = job;
    this.forget(id);
    this.#known.set(id, { state: stateOf(job), at: timeOf(job) });
    if (status === 'processing' || status === 'pending') this.#live.set(id, status);
    for (const [old, { at }] of this.#known) {
      if (this.#known.size <= this.#max) break;
      this.#tellUntil(at);
      this.forget(old);
    }
  }

  #tellUntil(time: string): void {
    if (time > this.#toldUntil) this.#toldUntil = time;
  }
}

function stateOf({ status, attempts }: ListedJob): string {
  return `${status} ${attempts}`;
}

/** When it became what it is, by the database's clock. Texts of the same length: their order is that of the times. */
export function timeOf({ status, finishedAt, startedAt, createdAt, attempts }: ListedJob): string {
  const started = status === 'processing' || (status === 'pending' && attempts > 0) ? startedAt : null;
  return finishedAt ?? started ?? createdAt;
}
