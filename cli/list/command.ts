import type { ListedJob, Status } from '../../client/job.ts';
import { STATUSES } from '../../functions/queue/job.ts';
import { JOB_COLUMNS } from '../job-columns.ts';
import { json, showJson, wire } from '../json.ts';
import { type JobFilter, type QueueAccess, withQueue } from '../queue.ts';
import { showTable } from '../table.ts';
import type { TargetOptions } from '../target-options.ts';
import { terminal } from '../terminal.ts';

export interface ListOptions extends TargetOptions, JobFilter {
  readonly limit: number;
  readonly all?: boolean;
  readonly counts?: boolean;
  readonly json?: boolean;
}

/** Jobs of a page that is asked for. */
const PAGE = 200;

export async function list(options: ListOptions): Promise<void> {
  const { status, kind, subject, createdAfter, createdBefore } = options;
  const filter: JobFilter = { status, kind, subject, createdAfter, createdBefore };
  const limit = options.all ? Number.POSITIVE_INFINITY : options.limit;
  await withQueue(options, async (queue) => {
    if (options.counts) return await showCounts(queue, filter, options);
    if (options.json) return await showDocument(queue, filter, limit);
    const more = await showJobs(queue, filter, limit);
    if (more) terminal.say(`There are more: --limit ${limit * 10}, or --all.`);
  });
}

/** A table a page: what is wide on one needs no room on another. Resolves whether there are more. */
async function showJobs(queue: QueueAccess, filter: JobFilter, limit: number): Promise<boolean> {
  let shown = 0;
  for await (const { jobs, isLast } of upTo(limit, queue, filter)) {
    showTable(JOB_COLUMNS, jobs);
    shown += jobs.length;
    if (isLast) {
      if (shown === 0 && terminal.isWatched) terminal.say('No job fits.');
      return false;
    }
  }
  return true;
}

/** One document, written as its pages come: however many jobs there are, none is kept. */
async function showDocument(queue: QueueAccess, filter: JobFilter, limit: number): Promise<void> {
  let separator = '';
  let more = true;
  process.stdout.write('{"jobs":[');
  for await (const { jobs, isLast } of upTo(limit, queue, filter)) {
    for (const job of jobs) {
      process.stdout.write(`${separator}\n${json(wire(job))}`);
      separator = ',';
    }
    more = !isLast;
  }
  terminal.show(`],"more":${more}}`);
}

async function* upTo(
  limit: number,
  queue: QueueAccess,
  filter: JobFilter,
): AsyncGenerator<{ readonly jobs: readonly ListedJob[]; readonly isLast: boolean }> {
  let left = limit;
  for await (const { jobs, nextCursor } of queue.pages(filter, Math.min(left, PAGE))) {
    yield { jobs: jobs.slice(0, left), isLast: nextCursor === null && jobs.length <= left };
    left -= jobs.length;
    if (left <= 0) return;
  }
}

async function showCounts(queue: QueueAccess, filter: JobFilter, options: ListOptions): Promise<void> {
  const { counts, countsLimit } = await queue.counts(filter);
  if (options.json) return showJson(wire({ counts, countsLimit }));
  const rows = STATUSES.flatMap((status: Status) => {
    const count = counts[status];
    return count === undefined ? [] : [{ status, count: count >= countsLimit ? `${count}+` : String(count) }];
  });
  showTable(
    [
      { title: 'status', of: ({ status }) => status },
      { title: 'jobs', of: ({ count }) => count, align: 'right' },
    ],
    rows,
  );
}
