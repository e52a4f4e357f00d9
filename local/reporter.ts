import type { IncomingMessage } from 'node:http';
import type { Schedule, Target } from './app.ts';
import type { Ending, LocalFunction } from './function.ts';
import { isIdle, readableLine } from './log-line.ts';

/** What the person at the terminal gets to see. */
export interface Reporter {
  line(text: string): void;
  /** A function wrote a line. */
  functionLine(fn: Pick<LocalFunction, 'name'>, line: string): void;
  /** An invocation that nobody waits for ended; only what went wrong is worth a line. */
  ended(started: Started, ending: Ending, about: { last: boolean }): void;
  /** The gateway answered; `why` is set when it had to do so itself. */
  answered(request: IncomingMessage, status: number, durationMs: number, why?: string): void;
}

/** By a schedule, or to wake a worker. */
type Started = Pick<Target<Schedule>, 'fn' | 'event'>;

/** What comes in bursts (completed jobs, requests) gets so many lines a second; the rest of that second is one line. */
const LINES_A_SECOND = 10;

/** A line before it is written. */
export interface Line {
  /** `12:30:01`. */
  readonly time: string;
  /** Who speaks, filled up to the width of the longest name. */
  readonly from: string;
  readonly text: string;
}

export interface ReporterOptions {
  readonly verbose?: boolean;
  /** How a line looks. Default: as it is. */
  readonly look?: (line: Line) => string;
}

/**
 * Writes lines such as `12:30:01 Work     completed  hello.greet 019a…  in 3 ms`. Quiet while nothing happens; `verbose`
 * shows all that the functions log, and with it the ids of the request that it belongs to.
 */
export function reporter(
  write: (line: string) => void,
  { verbose = false, look = ({ time, from, text }) => `${time} ${from} ${text}` }: ReporterOptions = {},
): Reporter {
  let width = 'millrace'.length;
  const line = (text: string, from = 'millrace') => {
    width = Math.max(width, from.length);
    write(look({ time: new Date().toTimeString().slice(0, 8), from: from.padEnd(width), text }));
  };
  const completed = folded('completed', line);
  const answered = folded('answered', line);
  return {
    line,
    functionLine: (fn, text) => {
      const readable = readableLine(text);
      if (readable === undefined) return;
      const { name, level, text: words, ids, slot } = readable;
      const from = placeOf(fn, slot);
      if (verbose) line(ids === '' ? words : `${words}  ${ids}`, from);
      else if (name === 'job.completed') completed(readable.text, from);
      else if (level !== 'debug' && name !== REQUEST && !isIdle(readable)) line(readable.text, from);
    },
    ended: ({ fn, event }, ending, { last }) => {
      const text = endingText(fn, ending, last);
      if (text) line(text, placeOf(fn, slotIn(event)));
    },
    answered: ({ method, url }, status, durationMs, why) => {
      const text = `${status} ${method} ${url} in ${Math.round(durationMs)} ms`;
      if (why !== undefined) line(`${text}: ${why}`, 'HTTP');
      else answered(text, 'HTTP');
    },
  };
}

/** The functions' own line of each request: the gateway's says the same with the path in it. */
const REQUEST = 'request';

/** Who speaks: the function, and of a fleet the place in it. The first place is the one that every worker has. */
function placeOf({ name }: Pick<LocalFunction, 'name'>, slot: number | undefined): string {
  return slot ? `${name}/${slot}` : name;
}

function slotIn(event: unknown): number | undefined {
  const { slot } = (event ?? {}) as { slot?: unknown };
  return typeof slot === 'number' ? slot : undefined;
}

/** Passes on the first lines of a second, from whomever, and says at its end how many of whom it kept. */
function folded(word: string, line: (text: string, from: string) => void): (text: string, from: string) => void {
  let seen = 0;
  const kept = new Map<string, number>();
  const tell = () => {
    for (const [from, count] of kept) line(`${word}  ${count} more`, from);
    kept.clear();
    seen = 0;
  };
  return (text, from) => {
    seen += 1;
    if (seen === 1) setTimeout(tell, 1000).unref();
    if (seen <= LINES_A_SECOND) line(text, from);
    else kept.set(from, (kept.get(from) ?? 0) + 1);
  };
}

function endingText(fn: LocalFunction, ending: Ending, last: boolean): string | undefined {
  if (ending.kind === 'threw') return `threw ${ending.error.stack ?? `${ending.error.name}: ${ending.error.message}`}`;
  if (ending.kind === 'timed out') return `killed at its timeout of ${fn.timeoutSeconds} s`;
  if (ending.kind === 'died') return `ended by ${ending.how}${last ? '' : '; the next tick starts another'}`;
  return undefined;
}
