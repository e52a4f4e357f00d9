import { setTimeout as sleep } from 'node:timers/promises';
import type { Readiness } from '../../client/ready.ts';
import type { KindStats, Stats } from '../../functions/queue/stats.ts';
import { duration } from '../ago.ts';
import { json, showJson, wire } from '../json.ts';
import { type QueueAccess, withQueue } from '../queue.ts';
import { type Column, showTable } from '../table.ts';
import type { TargetOptions } from '../target-options.ts';
import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';

export interface StatsOptions extends TargetOptions {
  readonly watch?: boolean;
  readonly json?: boolean;
}

/** Milliseconds from one look to the next. */
const WATCH_MS = 2000;
/** Moves the cursor home and clears what is below. */
const CLEAR = '\x1b[H\x1b[J';

export async function stats(options: StatsOptions): Promise<void> {
  await withQueue(options, async (queue) => {
    await showStats(queue, options);
    while (options.watch) {
      await sleep(WATCH_MS);
      await showStats(queue, options);
    }
  });
}

async function showStats(queue: QueueAccess, options: StatsOptions): Promise<void> {
  const [{ kinds, truncated }, ready] = [await queue.stats(), await queue.ready()];
  if (options.json) {
    const document = wire({ kinds, truncated, ready });
    return options.watch ? terminal.show(json(document)) : showJson(document);
  }
  if (options.watch && terminal.isWatched) terminal.show(`${CLEAR}${queue.where}  ${new Date().toISOString()}`);
  if (kinds.length > 0) showTable(COLUMNS, kinds);
  for (const words of wordsOf({ kinds, truncated }, ready)) terminal.say(words);
}

const COLUMNS: readonly Column<KindStats>[] = [
  { title: 'kind', of: ({ kind }) => kind, cuts: true },
  { title: 'pending', of: ({ pending }) => pending, align: 'right' },
  {
    title: 'waits',
    of: ({ oldestDueSeconds }) => oldestDueSeconds,
    shown: ({ oldestDueSeconds }) => (oldestDueSeconds > 0 ? duration(oldestDueSeconds) : '-'),
    align: 'right',
  },
  { title: 'processing', of: ({ processing }) => processing, align: 'right' },
  {
    title: 'dead',
    of: ({ dead }) => dead,
    shown: ({ dead }) => (dead >= 1000 ? `${dead}+` : String(dead)),
    align: 'right',
    paint: (text, { dead }) => (dead > 0 ? terminal.paint.red(text) : text),
  },
  { title: 'enqueued', of: ({ totals }) => totals.enqueued, align: 'right', spare: true },
  { title: 'completed', of: ({ totals }) => totals.completed, align: 'right', spare: true },
  { title: 'retried', of: ({ totals }) => totals.retried, align: 'right', spare: true },
  { title: 'buried', of: ({ totals }) => totals.buried, align: 'right', spare: true },
  { title: 'reaped', of: ({ totals }) => totals.reaped, align: 'right', spare: true },
];

/** What keeps jobs from being worked on, each with what to do. */
function wordsOf({ kinds, truncated }: Stats, ready: Readiness): string[] {
  const { paused, unclaimedKinds, unclaimedQueues, lastWorkerAt } = ready;
  return [
    ...(kinds.length === 0 ? ['No job has ever been put in.'] : []),
    ...(truncated ? ['There are more kinds than these 1,000.'] : []),
    ...paused.map(
      ({ scope, name }) => `The ${scope} ${visible(name)} is paused: npx millrace resume --${scope} ${visible(name)}`,
    ),
    ...unclaimedKinds.map((kind) => `No worker has the kind ${visible(kind)}: is its code deployed?`),
    ...unclaimedQueues.map((name) => `No worker serves the queue ${visible(name)}.`),
    ...(lastWorkerAt === null ? ['No worker has ever been there.'] : []),
  ];
}
