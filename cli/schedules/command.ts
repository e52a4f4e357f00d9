import type { Schedule } from '../../client/schedules.ts';
import { ago } from '../ago.ts';
import { showJson, wire } from '../json.ts';
import { withQueue } from '../queue.ts';
import { type Column, showTable } from '../table.ts';
import type { TargetOptions } from '../target-options.ts';
import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';

export interface SchedulesOptions extends TargetOptions {
  readonly json?: boolean;
}

export async function schedules(options: SchedulesOptions): Promise<void> {
  const all = await withQueue(options, (queue) => queue.schedules());
  if (options.json) return showJson(wire({ schedules: all }));
  if (all.length > 0) showTable(COLUMNS, all);
  for (const words of wordsOf(all)) terminal.say(words);
}

const COLUMNS: readonly Column<Schedule>[] = [
  { title: 'name', of: ({ name }) => name, cuts: true },
  { title: 'times', of: ({ cron, every }) => cron ?? `every ${every}` },
  { title: 'zone', of: ({ zone }) => zone, spare: true },
  { title: 'kind', of: ({ kind }) => kind, cuts: true },
  { title: 'next', of: ({ nextFireAt }) => nextFireAt, shown: ({ nextFireAt }) => ago(nextFireAt) },
  { title: 'last', of: ({ lastFireAt }) => lastFireAt, shown: ({ lastFireAt }) => ago(lastFireAt), spare: 'at-last' },
  { title: 'outcome', of: ({ lastOutcome }) => lastOutcome, paint: paintOutcome, spare: 'at-last' },
  { title: 'job', of: ({ lastJobId }) => lastJobId, spare: true },
  { title: 'state', of: ({ paused }) => (paused ? 'paused' : ''), paint: (text) => terminal.paint.yellow(text) },
];

function paintOutcome(text: string, { lastOutcome }: Schedule): string {
  return lastOutcome === 'fired' ? text : terminal.paint.yellow(text);
}

/** Longer than any run takes, and than a declaration stays as it is (five minutes): each run begins with one. */
const AWAY_MINUTES = 30;

/** What keeps them from firing, each with what to do. */
function wordsOf(all: readonly Schedule[]): string[] {
  if (all.length === 0) return ['No worker has declared a schedule.'];
  const before = Date.now() - AWAY_MINUTES * 60_000;
  return all
    .filter(({ declaredAt }) => Date.parse(declaredAt) < before)
    .map(
      ({ name, declaredAt }) =>
        `${visible(name)} was last declared ${ago(declaredAt)}: it is no longer in the code that is deployed, or no worker runs.`,
    );
}
