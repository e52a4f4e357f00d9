import { InvalidArgumentError } from 'commander';
import { visible } from './visible.ts';

/** Seconds of each unit. */
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
const SPAN = /^(\d{1,9}(?:\.\d{1,3})?)([smhdw])$/;
/** RFC 3339, or a day, which begins at midnight UTC. */
const TIME = /^\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d))?$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Of kinds and queues, as functions/queue/contract.ts has it (which takes zod to import). */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

const HOW = 'It takes a time with its zone such as 2030-01-31T08:00:00Z, a day such as 2030-01-31 (UTC)';

/** A time that has been: `2h` is two hours ago. */
export function timeArgument(text: string): Date {
  const seconds = spanOf(text);
  return seconds === undefined
    ? timeOf(text, ', or how long ago: 90s, 15m, 2h, 3d.')
    : new Date(Date.now() - seconds * 1000);
}

/** A time to come, as it is written; how long from now is for the database's clock, and `--delay`. */
export function exactTimeArgument(text: string): Date {
  return timeOf(text, '.');
}

/** `90`, `90s`, `15m`, `2h`, `3d`. */
export function secondsArgument(text: string): number {
  const given = /^\d{1,9}(?:\.\d{1,3})?$/.test(text) ? Number(text) : spanOf(text);
  if (given === undefined) throw new InvalidArgumentError('It takes seconds, or a span such as 90s, 15m, 2h, 3d.');
  return given;
}

export function idArgument(text: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('It takes the id of a job, such as 01920b7e-5c4a-7d3e-8f21-0a1b2c3d4e5f.');
}

export function nameArgument(text: string): string {
  if (NAME.test(text)) return text;
  throw new InvalidArgumentError('It takes 1 to 100 letters, digits and . _ : -, the first a letter or digit.');
}

/** What `--subject` and keys take. */
export function textArgument(text: string): string {
  if (text !== '' && [...text].length <= 255) return text;
  throw new InvalidArgumentError('It takes 1 to 255 characters.');
}

/** Where something is. An empty one is a variable that is not set: what else is set would be taken in its place. */
export function givenArgument(text: string): string {
  if (text.trim() !== '') return text;
  throw new InvalidArgumentError('Nothing came: is the variable set?');
}

/** Who acts, as people read it in operator_log. */
export function actorArgument(text: string): string {
  if (text.trim() !== '' && [...text].length <= 200 && visible(text) === text) return text;
  throw new InvalidArgumentError('It takes a name: 1 to 200 characters that can be seen.');
}

function spanOf(text: string): number | undefined {
  const [, count, unit = ''] = SPAN.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT_SECONDS[unit] ?? 1);
}

function timeOf(text: string, or: string): Date {
  const time = TIME.test(text) ? new Date(text.replace(' ', 'T')) : new Date(Number.NaN);
  // Date takes 30 February as 2 March: the day that it made must be the one that was written.
  const isReal =
    !Number.isNaN(time.getTime()) &&
    new Date(`${text.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(text.slice(0, 10));
  if (isReal) return time;
  throw new InvalidArgumentError(`${HOW}${or}`);
}
