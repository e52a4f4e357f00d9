import type { ListedJob, Status } from './job.ts';
import { snakeCased } from './names.ts';
import { type Call, pathOf } from './request.ts';

/** Each narrows the listing further. */
export interface Filters<Kind extends string = string> {
  readonly status?: Status | undefined;
  readonly kind?: Kind | undefined;
  readonly subject?: string | undefined;
  readonly createdAfter?: string | Date | undefined;
  readonly createdBefore?: string | Date | undefined;
}

export interface ListOptions<Kind extends string = string> extends Filters<Kind> {
  /** Jobs of a page, 1 to 200, default 50; the iteration goes on to the next. */
  readonly limit?: number | undefined;
  /** `nextCursor` of a page with the same filters: begins behind it. */
  readonly cursor?: string | undefined;
}

export interface Page {
  /** Newest first. */
  readonly jobs: readonly ListedJob[];
  /** null: this is the last. */
  readonly nextCursor: string | null;
}

type SendPage = (call: Call<Page>) => Promise<Page>;

/** Jobs one by one, or page by page. Reads a page when the one before is used up, and none after a `break`. */
export class Listing implements AsyncIterable<ListedJob> {
  readonly #send: SendPage;
  readonly #options: ListOptions;

  constructor(send: SendPage, options: ListOptions) {
    this.#send = send;
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ListedJob, void, undefined> {
    for await (const { jobs } of this.pages()) yield* jobs;
  }

  async *pages(): AsyncGenerator<Page, void, undefined> {
    for (let cursor: string | null | undefined = this.#options.cursor; cursor !== null; ) {
      const page: Page = await this.#send(pageCall({ ...this.#options, cursor }));
      yield page;
      cursor = page.nextCursor;
    }
  }
}

function pageCall(options: ListOptions): Call<Page> {
  return {
    method: 'GET',
    path: pathOf`/jobs`,
    query: snakeCased(options),
    read: ({ jobs, nextCursor }: Page) => {
      const isNew = nextCursor === null || (typeof nextCursor === 'string' && nextCursor !== options.cursor);
      if (!Array.isArray(jobs) || !isNew) throw new Error('no page, or the same one again');
      return { jobs, nextCursor };
    },
  };
}

export interface Counts {
  /** One for each status, or for the one asked for. */
  readonly counts: Readonly<Partial<Record<Status, number>>>;
  /** A count of this size means that many or more. */
  readonly countsLimit: number;
}

export function countsCall(filters: Filters): Call<Counts> {
  return {
    method: 'GET',
    path: pathOf`/jobs`,
    query: { ...snakeCased(filters), limit: 1, counts: true },
    read: ({ counts, countsLimit }: Counts) => {
      if (typeof counts !== 'object' || counts === null) throw new Error('no counts');
      return { counts, countsLimit };
    },
  };
}
