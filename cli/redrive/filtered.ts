import type { RedriveFilter } from '../../client/redrive.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { confirm } from '../confirm.ts';
import { showJson } from '../json.ts';
import { progressBar } from '../progress-bar.ts';
import type { QueueAccess } from '../queue.ts';
import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';
import { count, inNumber, showCount } from './count.ts';
import { stopOnInterrupt } from './interrupt.ts';
import { commandThatGoesOn, inWords, type RedriveOptions } from './options.ts';

/** Jobs of a step: soon done, for Ctrl-C waits for it. */
const STEP = 200;

interface Tally {
  redriven: number;
  skipped: number;
  /** Where a later command goes on; null at the end. */
  cursor: string | null | undefined;
}

/** Redrives what fits the filter, step by step, when a person or `--yes` has agreed to the number. */
export async function redriveFiltered(
  queue: QueueAccess,
  filter: RedriveFilter,
  options: RedriveOptions,
): Promise<void> {
  const { dryRun, yes, json } = options;
  const isCounted = dryRun || !yes || process.stderr.isTTY;
  const matched = isCounted ? await count(queue, filter, options) : undefined;
  if (dryRun) {
    showCount(matched ?? 0, options);
    return;
  }
  if (matched !== 0) await confirm(`Redrive ${inNumber(matched)}${inWords(options)}, in ${queue.where}?`, yes);
  const tally: Tally = { redriven: 0, skipped: 0, cursor: options.after };
  const stopped = matched === 0 ? false : await carryThrough(queue, filter, options, matched, tally);
  showTally(tally, json);
  if (stopped) throw new CliError(goOn(options, tally), EXIT.interrupted);
  if (tally.cursor != null) terminal.say(goOn(options, tally));
}

/** Resolves whether it was stopped on the way. What fails on the way has been counted so far. */
async function carryThrough(
  queue: QueueAccess,
  filter: RedriveFilter,
  options: RedriveOptions,
  matched: number | undefined,
  tally: Tally,
): Promise<boolean> {
  const { limit = Number.POSITIVE_INFINITY } = options;
  const interrupt = stopOnInterrupt();
  const bar = progressBar(matched);
  const done = () => tally.redriven + tally.skipped;
  try {
    for (let cursor = options.after; done() < limit && !interrupt.asked; cursor = tally.cursor) {
      const step = await queue.redriveStep({ ...filter, limit: Math.min(STEP, limit - done()), cursor });
      tally.redriven += step.redriven;
      tally.skipped += step.skipped;
      tally.cursor = step.nextCursor;
      bar.to(done());
      if (tally.cursor === null) return false;
    }
    return interrupt.asked;
  } catch (error) {
    bar.stop();
    if (tally.cursor !== options.after) {
      showTally(tally, options.json);
      terminal.say(goOn(options, tally));
    }
    throw error;
  } finally {
    bar.stop();
    interrupt.end();
  }
}

function showTally({ redriven, skipped, cursor }: Tally, json: boolean | undefined): void {
  if (json) showJson({ redriven, skipped, next_cursor: cursor ?? null });
  else for (const [name, count] of Object.entries({ redriven, skipped })) terminal.show(rowOf(name, count));
  if (skipped === 0) return;
  terminal.say(
    `${inNumber(skipped)} stayed dead: one with the same unique key is pending, or an open transaction holds them.`,
  );
}

function rowOf(name: string, count: number): string {
  return terminal.isWatched ? `${name.padEnd(10)}${count.toLocaleString('en-US')}` : `${name}\t${count}`;
}

function goOn(options: RedriveOptions, { redriven, skipped, cursor }: Tally): string {
  const command = cursor == null ? undefined : commandThatGoesOn(options, cursor, redriven + skipped);
  return command === undefined
    ? 'Stopped before the first step.'
    : `There may be more. This goes on:\n  ${visible(command)}`;
}
