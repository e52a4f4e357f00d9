import { relative } from 'node:path';

/** A line of a function's log, as a person wants to read it. */
export interface ReadableLine {
  readonly level: string;
  /** The event's name or the message that it came with. */
  readonly name: string;
  readonly text: string;
  /** Which of the worker's places it comes from; undefined if from no worker. */
  readonly slot?: number;
  /** By which the lines of one request are found: its id and its trace. */
  readonly ids: string;
}

type Record_ = Readonly<Record<string, unknown>>;

/** Fields that every line has and that a person at a terminal does not need. */
const DULL = new Set([
  ...['level', 'message', 'timestamp', 'function', 'slot', 'job_id', 'kind'],
  ...['request_id', 'gateway_request_id', 'aws_request_id', 'trace_id'],
]);

/** What happens most, in words. */
const WORDS: Readonly<Record<string, (record: Record_) => string>> = {
  'job.completed': (r) => `completed  ${job(r)}  in ${ms(r.duration_ms)}${later(r)}`,
  'job.retried': (r) =>
    `failed     ${job(r)}  attempt ${r.attempt}: ${short(r.error)}; again in ${seconds(r.delay_seconds)}${place(r.error)}`,
  'job.buried': (r) => `dead       ${job(r)}  after attempt ${r.attempt}: ${short(r.error)}${place(r.error)}`,
  'job.released': (r) => `released   ${job(r)}  its attempt is given back`,
  'job.cancelled': (r) => `cancelled  ${job(r)}`,
  'job.overtaken': (r) => `overtaken  ${job(r)}  somebody else has it now, this result is dropped`,
  'job.reaped': (r) => `reaped     ${job(r)}  the lease of attempt ${r.attempt} ran out; now ${r.status}`,
};

/**
 * Reads a line as the functions write them, one JSON object each. Other text stays as it is; metrics (embedded metric
 * format) are for CloudWatch and give nothing.
 */
export function readableLine(line: string): ReadableLine | undefined {
  const record = parse(line);
  if (record === undefined) return line.trim() === '' ? undefined : { level: 'info', name: '', text: line, ids: '' };
  if ('_aws' in record) return undefined;
  const name = short(record.message ?? '');
  const level = String(record.level ?? 'info').toLowerCase();
  const slot = typeof record.slot === 'number' ? { slot: record.slot } : {};
  return { level, name, text: WORDS[name]?.(record) ?? inGeneral(name, record), ids: idsOf(record), ...slot };
}

function idsOf(record: Record_): string {
  const present = ['request_id', 'trace_id'].filter((key) => typeof record[key] === 'string');
  return present.map((key) => `${key} ${record[key]}`).join('  ');
}

/** What workers and the reaper say at the end of each run: each minute, whether or not there was anything to do. */
const SUMMARIES = ['run ended', 'tick ended', 'run.drained'];

/** Whether it is a summary of a run that did nothing. Counters are rolled up and time goes by in any case. */
export function isIdle({ name, text }: ReadableLine): boolean {
  return SUMMARIES.includes(name) && !/ [1-9]| \[[^\]]/.test(text.replace(/(rolled_up|duration_ms) \d+/g, ''));
}

function inGeneral(name: string, record: Record_): string {
  const fields = Object.entries(record)
    .filter(([key, value]) => !DULL.has(key) && value !== null && value !== undefined)
    // Of a summary only what was done.
    .filter(([, value]) => !SUMMARIES.includes(name) || (value && short(value) !== '[]'));
  return [name, job(record), ...fields.map(([key, value]) => `${key} ${short(value)}`)]
    .filter((part) => part !== '')
    .join('  ');
}

function job({ kind, job_id }: Record_): string {
  return [kind, job_id].filter((part) => typeof part === 'string').join(' ');
}

function later({ attempt }: Record_): string {
  return typeof attempt === 'number' && attempt > 1 ? `, attempt ${attempt}` : '';
}

/** Where the application threw, from the folder that this was started in, so that a click leads there. */
function place(error: unknown): string {
  const { at } = (error ?? {}) as { at?: unknown };
  if (typeof at !== 'string') return '';
  const path = relative(process.cwd(), at);
  return `  at ${path.startsWith('..') ? at : path}`;
}

function ms(value: unknown): string {
  return `${Math.round(Number(value))} ms`;
}

function seconds(value: unknown): string {
  return typeof value === 'number' ? `${value < 10 ? value.toFixed(1) : Math.round(value)} s` : 'its backoff';
}

function parse(line: string): Record_ | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record_;
  } catch {
    return undefined;
  }
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (messageOf(value) ?? JSON.stringify(value));
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}

/** Of a logged error the message says most. */
function messageOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('message' in value)) return undefined;
  return 'name' in value ? `${value.name}: ${value.message}` : String(value.message);
}
