import { snakeCased } from './names.ts';
import { type Call, pathOf } from './request.ts';

/** Which dead jobs; at least one of the first four. */
export interface RedriveFilter<Kind extends string = string> {
  readonly kind?: Kind | undefined;
  /** Part of the last error's name or message, in upper or lower case. */
  readonly error?: string | undefined;
  readonly deadAfter?: string | Date | undefined;
  readonly deadBefore?: string | Date | undefined;
  /** Jobs of a step, 1 to 1,000, default 1,000; the next step goes on. */
  readonly limit?: number | undefined;
  /** `nextCursor` of a step with the same filter: goes on behind it. */
  readonly cursor?: string | undefined;
  /** Changes nothing, and counts what would be redriven as `matched`. */
  readonly dryRun?: boolean | undefined;
}

export interface Redriven {
  readonly redriven: number;
  /** Left dead, since a job with the same unique key is pending. */
  readonly skipped: number;
  /** Of a dry run. */
  readonly matched: number;
}

export interface RedriveStep extends Redriven {
  /** null: that was the last. */
  readonly nextCursor: string | null;
}

/** Sends step after step, each when the one before is used up, and none after a `break`. */
export async function* redriveSteps(
  send: (call: Call<RedriveStep>) => Promise<RedriveStep>,
  filter: RedriveFilter,
): AsyncGenerator<RedriveStep, void, undefined> {
  for (let cursor: string | null | undefined = filter.cursor; cursor !== null; ) {
    const step: RedriveStep = await send(redriveCall({ ...filter, cursor }));
    yield step;
    cursor = step.nextCursor;
  }
}

export async function total(steps: AsyncIterable<RedriveStep>): Promise<Redriven> {
  const sum = { redriven: 0, skipped: 0, matched: 0 };
  for await (const { redriven, skipped, matched } of steps) {
    sum.redriven += redriven;
    sum.skipped += skipped;
    sum.matched += matched;
  }
  return sum;
}

function redriveCall(filter: RedriveFilter): Call<RedriveStep> {
  return {
    method: 'POST',
    path: pathOf`/jobs/redrive`,
    body: snakeCased(filter),
    read: ({ redriven = 0, skipped = 0, matched = 0, nextCursor }: RedriveStep) => {
      const isNew = nextCursor === null || (typeof nextCursor === 'string' && nextCursor !== filter.cursor);
      if (!isNew) throw new Error('no step, or the same one again');
      return { redriven, skipped, matched, nextCursor };
    },
  };
}
