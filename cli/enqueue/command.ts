import { text } from 'node:stream/consumers';
import type { Job } from '../../client/job.ts';
import { parseJson } from '../../functions/queue/json.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { json, showJson, wire } from '../json.ts';
import { type JobToEnqueue, type QueueAccess, withQueue } from '../queue.ts';
import type { TargetOptions } from '../target-options.ts';
import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';

export interface EnqueueOptions extends TargetOptions {
  readonly subject?: string;
  readonly delay?: number;
  readonly runAt?: Date;
  readonly priority?: number;
  readonly queue?: string;
  readonly maxAttempts?: number;
  readonly idempotencyKey?: string;
  readonly uniqueKey?: string;
  /** Seconds; true: as long as usual. */
  readonly wait?: number | true;
  readonly json?: boolean;
}

/** Seconds. */
const USUAL_WAIT = 300;
const LONGEST_WAIT = 86_400;

const UNCHECKED =
  'Over SQL no contract has checked the payload, chosen the queue and the attempts, or sealed it; the worker will check it.';

export async function enqueue(kind: string, payload: string, options: EnqueueOptions): Promise<void> {
  const {
    subject,
    delay: delaySeconds,
    runAt,
    priority,
    queue: lane,
    maxAttempts,
    idempotencyKey,
    uniqueKey,
  } = options;
  const waitSeconds = options.wait === true ? USUAL_WAIT : options.wait;
  if (waitSeconds !== undefined && !(waitSeconds > 0 && waitSeconds <= LONGEST_WAIT)) {
    throw new CliError('--wait takes more than no time, and a day at most.', EXIT.usage);
  }
  const settings = { subject, delaySeconds, runAt, priority, queue: lane, maxAttempts, idempotencyKey, uniqueKey };
  const job: JobToEnqueue = { kind, payload: await payloadOf(payload), ...settings };
  await withQueue(options, async (queue) => {
    const enqueued = await queue.enqueue(job);
    if (queue.by === 'sql') terminal.say(UNCHECKED);
    const { id, outcome, pruned } = enqueued;
    if (waitSeconds !== undefined && !pruned) {
      terminal.say(`${id} ${outcome}`);
      return await waitAndShow(queue, id, waitSeconds, options);
    }
    if (options.json) return showJson(wire({ id, outcome, pruned }));
    if (outcome !== 'created') terminal.say(pruned ? `${outcome}; the record of that job is gone` : outcome);
    terminal.show(id);
  });
}

/** @throws CliError for what is no JSON, or would not be stored as it is written */
async function payloadOf(given: string): Promise<unknown> {
  const parsed = parseJson(given === '-' ? await text(process.stdin) : given);
  if (parsed.kind === 'parsed') return parsed.value;
  const where = given === '-' ? 'The payload on stdin' : 'The payload';
  if (parsed.kind === 'malformed') {
    throw new CliError(`${where} is not JSON: ${parsed.detail}. In a shell write it as '{"name": "Ada"}'.`, EXIT.usage);
  }
  throw new CliError(
    `${where}: ${parsed.flaws.map(({ pointer, detail }) => `${pointer || 'it'} ${detail}`).join('; ')}.`,
    EXIT.usage,
  );
}

async function waitAndShow(queue: QueueAccess, id: string, timeoutSeconds: number, options: EnqueueOptions) {
  const job = await ended(queue, id, timeoutSeconds);
  if (options.json) showJson(wire(job));
  else if (job.status === 'completed' && 'result' in job)
    terminal.show(json(job.result, terminal.isWatched ? 2 : undefined));
  if (job.status === 'completed') return;
  const last = job.errors.at(-1);
  const why = last === undefined ? '' : `: ${visible(`${last.name}: ${last.message}`)}`;
  throw new CliError(`It is ${job.status}${why}. More: npx millrace show ${id}`, EXIT.failed);
}

/** With its result, unless the token may not see that. */
async function ended(queue: QueueAccess, id: string, timeoutSeconds: number): Promise<Job> {
  try {
    return await queue.waitFor(id, { timeoutSeconds, include: ['result'] });
  } catch (error) {
    if (!(error instanceof CliError && error.code === 'forbidden')) throw error;
    const job = await queue.waitFor(id, { timeoutSeconds, include: [] });
    terminal.say(`It is ${job.status}; to see the result takes the role reader.`);
    return job;
  }
}
