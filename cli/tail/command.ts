import { setTimeout as sleep } from 'node:timers/promises';
import type { ListedJob, Status } from '../../client/job.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { noteOf, paintStatus } from '../job-columns.ts';
import { json, wire } from '../json.ts';
import { withQueue } from '../queue.ts';
import { type Column, tabbed } from '../table.ts';
import type { TargetOptions } from '../target-options.ts';
import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';
import { cut, widthOf } from '../width.ts';
import { Changes, timeOf } from './changes.ts';
import { lookAround } from './look-around.ts';

export interface TailOptions extends TargetOptions {
  readonly status?: Status;
  readonly kind?: string;
  readonly last: number;
  /** Seconds. */
  readonly every: number;
  readonly json?: boolean;
}

/** Milliseconds from one look to the next at least: each is some small statements. */
const LEAST_MS = 100;

export async function tail(options: TailOptions): Promise<void> {
  const { kind, status, last } = options;
  const fits = (job: ListedJob) => status === undefined || job.status === status;
  const show = (jobs: readonly ListedJob[]) => {
    for (const job of jobs) if (fits(job)) showJob(job, options.json === true);
  };
  await withQueue(options, async (queue) => {
    const changes = new Changes();
    const there = await lookAround(queue, kind, changes);
    changes.begin(there);
    show(lastOf(there.filter(fits), last));
    let isLost = false;
    for (;;) {
      await sleep(Math.max(LEAST_MS, options.every * 1000));
      const seen = await patiently(() => lookAround(queue, kind, changes));
      if (seen instanceof CliError) {
        if (!isLost) terminal.say(`${seen.message}\nLooking again until it is back, or Ctrl-C.`);
        isLost = true;
        continue;
      }
      if (isLost) terminal.say(`${queue.where} is back.`);
      isLost = false;
      show(changes.in(seen));
    }
  });
}

/** The newest so many, each once, the oldest first. */
function lastOf(jobs: readonly ListedJob[], last: number): ListedJob[] {
  const each = [...new Map(jobs.map((job) => [job.id, job])).values()];
  return each
    .sort((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1))
    .slice(0, last)
    .reverse();
}

/** An API that restarts, a database that fails over: that is sat out. What will not pass ends it. */
async function patiently<T>(look: () => Promise<T>): Promise<T | CliError> {
  try {
    return await look();
  } catch (error) {
    const willPass =
      error instanceof CliError && error.exitCode === EXIT.unreachable && !FOR_GOOD.includes(error.code ?? '');
    if (willPass || (error instanceof CliError && error.code === 'timed-out')) return error;
    throw error;
  }
}

const FOR_GOOD = ['unauthorized', 'forbidden', 'redirected', 'schema-outdated'];

function showJob(job: ListedJob, asJson: boolean): void {
  terminal.show(asJson ? json(wire(job)) : lineOf(job));
}

/** Time, id, status, kind, subject, tries and note: with tabs between them, or on a terminal as much as one line has room for. */
function lineOf(job: ListedJob): string {
  if (!terminal.isWatched) return tabbed(JOB, job);
  const { id, status } = job;
  const at = `${timeOf(job).slice(11, 19)}Z`;
  const state = status.padEnd(STATUS_WIDTH);
  const rest = JOB.slice(REST).map(({ title, of }) => {
    const text = visible(String(of(job) ?? ''));
    return title === 'note' ? text : cut(text, REST_MOST);
  });
  const room = terminal.width - widthOf([at, id, state, ''].join(GAP));
  return [at, id, paintStatus(status, state), cut(rest.filter(Boolean).join(GAP), Math.max(room, LEAST_ROOM))].join(
    GAP,
  );
}

const JOB: readonly Pick<Column<ListedJob>, 'title' | 'of'>[] = [
  { title: 'time', of: timeOf },
  { title: 'id', of: ({ id }) => id },
  { title: 'status', of: ({ status }) => status },
  { title: 'kind', of: ({ kind }) => kind },
  { title: 'subject', of: ({ subject }) => subject },
  {
    title: 'tries',
    of: ({ attempts, maxAttempts, status }) => (attempts > 1 || status === 'dead' ? `${attempts}/${maxAttempts}` : ''),
  },
  { title: 'note', of: noteOf },
];
/** What comes after the status; columns of each but the note, which is the last and has the room that is left. */
const REST = 3;
const REST_MOST = 30;
const LEAST_ROOM = 8;
const GAP = '  ';
const STATUS_WIDTH = 10;
