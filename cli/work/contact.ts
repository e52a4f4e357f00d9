import type { Connect, Connection } from '../../functions/queue/steady-connection.ts';

/** When the database last answered one of the worker's statements. */
export class Contact {
  readonly #freshSeconds: number;
  #at: number | undefined;

  /** `freshSeconds`: a run asks for jobs many times a second, and after the jobs that it has once a second. */
  constructor(freshSeconds: number) {
    this.#freshSeconds = freshSeconds;
  }

  /** Seconds ago; undefined: it never has. */
  get ageSeconds(): number | undefined {
    return this.#at === undefined ? undefined : (performance.now() - this.#at) / 1000;
  }

  get isFresh(): boolean {
    return (this.ageSeconds ?? Number.POSITIVE_INFINITY) < this.#freshSeconds;
  }

  /** The same connections, watched. */
  of(connect: Connect): Connect {
    return async () => {
      const connection = await connect();
      const watched: Connection = {
        query: async (text, values) => {
          const answer = await connection.query<never>(text, values);
          this.#at = performance.now();
          return answer;
        },
        on: (event, listener) => connection.on(event, listener),
        end: () => connection.end(),
      };
      return watched;
    };
  }
}
