import type { AttemptError, Job, Part } from '../../client/job.ts';
import { ago, duration } from '../ago.ts';
import { paintStatus } from '../job-columns.ts';
import { json, showJson, wire } from '../json.ts';
import { withQueue } from '../queue.ts';
import type { TargetOptions } from '../target-options.ts';
import { terminal } from '../terminal.ts';
import { visible, visibleLines } from '../visible.ts';
import { withoutSeals } from './sealed.ts';

export interface ShowOptions extends TargetOptions {
  readonly payload?: boolean;
  readonly result?: boolean;
  readonly stack?: boolean;
  readonly json?: boolean;
}

export async function show(id: string, options: ShowOptions): Promise<void> {
  const parts = (['payload', 'result'] as const).filter((part) => options[part]);
  const job = await withQueue(options, (queue) => queue.get<Part>(id, parts));
  if (options.json) return showJson(wire(job));
  for (const [name, text] of factsOf(job)) terminal.show(`${name.padEnd(NAME_WIDTH)}${text}`);
  for (const part of parts) {
    terminal.show(`\n${part}`);
    for (const line of visibleLines(json(withoutSeals(job[part]), 2))) terminal.show(`  ${line}`);
  }
  for (const error of job.errors) showError(error, options.stack === true);
}

const NAME_WIDTH = 18;

/** Named as on the wire; what says nothing is left out. */
function factsOf(job: Job): [string, string][] {
  const { status, progress, attempts, maxAttempts } = job;
  const facts: [string, string | null | undefined | false][] = [
    ['id', job.id],
    ['status', paintStatus(status)],
    ['kind', visible(job.kind)],
    ['queue', visible(job.queue)],
    ['subject', job.subject && visible(job.subject)],
    ['priority', job.priority !== 0 && String(job.priority)],
    ['attempts', `${attempts} of ${maxAttempts}`],
    ['created', when(job.createdAt)],
    ['due', status === 'pending' && when(job.runAt)],
    ['started', when(job.startedAt)],
    ['finished', when(job.finishedAt)],
    ['cancel requested', when(job.cancelRequestedAt)],
    ['progress', progress && `${Math.round(progress.fraction * 100)}% ${visible(progress.note ?? '')}`.trim()],
    ['unique key', job.uniqueKey && visible(job.uniqueKey)],
    ['idempotency key', job.idempotencyKey && visible(job.idempotencyKey)],
    ['request', job.requestId && visible(job.requestId)],
  ];
  return facts.flatMap(([name, text]) => (text ? [[name, text]] : []));
}

/** The time itself, and for people how long ago. */
function when(time: string | null | undefined): string | undefined {
  if (!time) return undefined;
  return terminal.isWatched ? `${time}  (${ago(time)})` : time;
}

function showError({ attempt, startedAt, failedAt, name, message, where, stack }: AttemptError, whole: boolean): void {
  const took = startedAt && failedAt && `after ${duration((Date.parse(failedAt) - Date.parse(startedAt)) / 1000)}`;
  const facts = [`attempt ${attempt}`, when(failedAt), took, where && `in ${visible(where)}`].filter(Boolean);
  terminal.show(`\n${terminal.paint.bold(facts.join('  '))}`);
  for (const line of visibleLines(`${name}: ${message}`)) terminal.show(`  ${terminal.paint.red(line)}`);
  const frames = stack === undefined ? [] : visibleLines(stack);
  if (whole) for (const frame of frames) terminal.show(`  ${frame}`);
  else if (frames.length > 0 && terminal.isWatched) terminal.say(`  (${frames.length} lines of stack: --stack)`);
}
