import { inspect } from 'node:util';
import type { AttemptError } from './job.ts';

/** Bytes of JSON an error may take in `errors`: 20 of them stay within 80 KB. */
const MAX_BYTES = 4096;
const NAME_BYTES = 200;
const MESSAGE_BYTES = 2048;
/** 200 bytes of JSON and its quotes. */
const WHERE_BYTES = 202;
/** What the keys, the numbers and the two times take, with room to spare. */
const FRAME_BYTES = 250;
const CAUSES = 3;

/**
 * What is kept of a failed attempt. `thrown` may be anything at all: null, a Proxy that throws on every access, an
 * Error with 10 MB of message. Never throws itself; the answer is storable as jsonb and at most 4 KB of JSON.
 */
export function attemptError(
  thrown: unknown,
  { attempt, startedAt, failedAt, where }: { attempt: number; startedAt: Date; failedAt: Date; where?: string },
): AttemptError {
  const { name, message, stack } = safely(() => read(thrown)) ?? UNREADABLE;
  const shortName = shorten(name, NAME_BYTES);
  const shortMessage = shorten(message, MESSAGE_BYTES);
  const shortWhere = where === undefined ? {} : { where: shorten(where, WHERE_BYTES) };
  const left = MAX_BYTES - FRAME_BYTES - WHERE_BYTES - jsonBytes(shortName) - jsonBytes(shortMessage);
  return {
    attempt,
    started_at: startedAt.toISOString(),
    failed_at: failedAt.toISOString(),
    ...shortWhere,
    name: shortName,
    message: shortMessage,
    ...(stack === undefined ? {} : { stack: shorten(stack, left) }),
  };
}

const UNREADABLE = { name: 'NonError', message: 'what the processor threw cannot be read', stack: undefined };

function read(thrown: unknown): { name: string; message: string; stack: string | undefined } {
  if (!(thrown instanceof Error)) {
    return { name: 'NonError', message: `the processor threw ${shown(thrown)} in place of an Error`, stack: undefined };
  }
  const name = safely(() => thrown.name);
  const stack = safely(() => thrown.stack);
  return { name: asText(name) || 'Error', message: messageOf(thrown), stack: frames(asText(stack)) };
}

/** The message and, behind it, what caused it: "fetch failed" alone helps nobody. */
function messageOf(error: Error): string {
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth <= CAUSES && current !== undefined && current !== null; depth++) {
    const at = current;
    parts.push(at instanceof Error ? ownMessage(at) : shown(at));
    current = at instanceof Error ? safely(() => at.cause) : undefined;
  }
  return parts.join('; cause: ');
}

function ownMessage(error: Error): string {
  const message = asText(safely(() => error.message));
  // An AggregateError of refused connections has no message, but a code.
  return message || asText(safely(() => (error as { code?: unknown }).code)) || 'no message';
}

/** The lines of a stack without its head, which repeats name and message. */
function frames(stack: string): string | undefined {
  const start = stack.indexOf('\n    at ');
  return start < 0 ? undefined : stack.slice(start + 1);
}

function shown(value: unknown): string {
  const text = safely(() =>
    inspect(value, { depth: 2, maxStringLength: 1000, maxArrayLength: 20, breakLength: Infinity }),
  );
  return asText(text) || `a value of type ${typeof value}`;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function safely<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Cuts `text` so that it takes at most `bytes` of JSON, and replaces what jsonb refuses: NUL and lone surrogates. */
export function shorten(text: string, bytes: number): string {
  // Each character takes a byte or more, so what lies beyond is never looked at.
  let kept = text.slice(0, bytes).toWellFormed().replaceAll('\0', '\uFFFD');
  if (kept.length === text.length && jsonBytes(kept) <= bytes) return kept;
  while (jsonBytes(kept) > bytes - 4) kept = kept.slice(0, Math.floor(kept.length * 0.9)).toWellFormed();
  return `${kept}…`;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
