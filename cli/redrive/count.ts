import type { RedriveFilter } from '../../client/redrive.ts';
import { showJson } from '../json.ts';
import type { QueueAccess } from '../queue.ts';
import { terminal } from '../terminal.ts';
import type { RedriveOptions } from './options.ts';

/** Jobs that a step of counting takes; as many as the API does. */
const COUNT_STEP = 1000;
/** It is not worth waiting for the exact number of more. */
const COUNT_MAX = 50_000;

/** How many a redrive would try, up to its limit and to 50,000. */
export async function count(
  queue: QueueAccess,
  filter: RedriveFilter,
  { limit, after }: RedriveOptions,
): Promise<number> {
  const most = Math.min(limit ?? COUNT_MAX, COUNT_MAX);
  let matched = 0;
  for (let cursor: string | null | undefined = after; cursor !== null && matched < most; ) {
    const step = await queue.redriveStep({
      ...filter,
      limit: Math.min(COUNT_STEP, most - matched),
      cursor,
      dryRun: true,
    });
    matched += step.matched;
    cursor = step.nextCursor;
  }
  return matched;
}

export function showCount(matched: number, { json, limit }: RedriveOptions): void {
  const isCut = matched === COUNT_MAX && matched !== limit;
  if (json) showJson({ matched, counted_all: !isCut });
  else terminal.show(`matched\t${matched}`);
  terminal.say(`${inNumber(matched)} would be redriven. Nothing was changed.`);
}

export function inNumber(jobs = 0): string {
  return `${jobs.toLocaleString('en-US')} dead ${jobs === 1 ? 'job' : 'jobs'}${jobs === COUNT_MAX ? ' or more' : ''}`;
}
