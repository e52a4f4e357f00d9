import type { Middleware } from '../../functions/queue/middleware.ts';

/** What one run has at work, seen beside the others of this process. */
export interface Share {
  /** Counts an attempt for as long as it lasts. To be the outermost. */
  readonly counting: Middleware;
  /** How many attempts of other runs last. */
  readonly others: () => number;
  /** The run has ended: what it has given up counts no more. */
  readonly end: () => void;
}

/** While one run hands over to the next, both have jobs at work: together they are no more than one of them may have. */
export class Shares {
  readonly #running = new Map<Share, number>();

  open(): Share {
    const share: Share = {
      counting: async (_job, next) => {
        this.#add(share, 1);
        try {
          return await next();
        } finally {
          this.#add(share, -1);
        }
      },
      others: () => [...this.#running].reduce((sum, [of, n]) => (of === share ? sum : sum + n), 0),
      end: () => this.#running.delete(share),
    };
    this.#running.set(share, 0);
    return share;
  }

  #add(share: Share, n: number): void {
    const running = this.#running.get(share);
    if (running !== undefined) this.#running.set(share, running + n);
  }
}
