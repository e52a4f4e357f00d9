import { AlteredNumber, MAY_ALTER, markAltered, type Reviver } from './altered-number.ts';
import { type Flaw, flawsOf, isContainer, MAX_DEPTH, textFlaw } from './flaws.ts';

export type ParsedJson =
  | { readonly kind: 'parsed'; readonly value: unknown }
  /** Not JSON at all. */
  | { readonly kind: 'malformed'; readonly detail: string }
  /** JSON, but something in it would be lost or could not be stored. */
  | { readonly kind: 'flawed'; readonly flaws: readonly Flaw[] };

/**
 * Reads JSON from outside. What comes back is what was sent: nothing was rounded, and jsonb can hold all of it.
 * Refused with a pointer: nesting deeper than 100; numbers that JavaScript would change (integers it rounds, 1e400,
 * 1e-400); NUL or half a surrogate pair in a string or key; `__proto__` keys. Of a key that comes twice the last wins.
 */
export function parseJson(text: string): ParsedJson {
  const tooDeep = depthFlaw(text, MAX_DEPTH);
  if (tooDeep !== undefined) return { kind: 'flawed', flaws: [{ pointer: '', detail: tooDeep }] };
  const read = readJson(text);
  if (read.kind === 'malformed') return read;
  const flaws = flawsOf(read.value, valueFlaw, keyFlaw);
  return flaws.length === 0 ? read : { kind: 'flawed', flaws };
}

/**
 * Reads a list of values as parseJson reads one, each on its own: `jsonFlaws` tells of each what is wrong with it. `levels`:
 * how deep the values lie in the whole.
 */
export function parseJsonList(text: string, levels: number): Exclude<ParsedJson, { kind: 'flawed' }> {
  // Without the reviver, whose recursion would end on the stack; what is too deep is refused for that alone.
  return depthFlaw(text, MAX_DEPTH + levels) === undefined ? readJson(text) : readPlain(text);
}

/** What is wrong with one value of a list that parseJsonList has read, at most 20 flaws. */
export function jsonFlaws(value: unknown): Flaw[] {
  if (isDeeper(value, MAX_DEPTH)) return [{ pointer: '', detail: `is nested deeper than ${MAX_DEPTH} levels` }];
  return flawsOf(value, valueFlaw, keyFlaw);
}

/** Level by level, since a depth of millions would end any recursion. */
function isDeeper(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === levels) return true;
    level = level.flatMap((container) => Object.values(container)).filter(isContainer);
  }
  return false;
}

/** Numbers that JavaScript would change come as AlteredNumber. */
function readJson(text: string): Exclude<ParsedJson, { kind: 'flawed' }> {
  return MAY_ALTER.test(text) ? readPlain(text, markAltered) : readPlain(text);
}

function readPlain(text: string, reviver?: Reviver): Exclude<ParsedJson, { kind: 'flawed' }> {
  try {
    return { kind: 'parsed', value: JSON.parse(text, reviver) };
  } catch (error) {
    return { kind: 'malformed', detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Scans before parsing: a reviver recurses, so 10,000 levels would end the stack there. */
function depthFlaw(text: string, levels: number): string | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at);
        break;
      case '{':
      case '[':
        if (++depth > levels) return `is nested deeper than ${levels} levels, at character ${at + 1}`;
        break;
      case '}':
      case ']':
        depth--;
    }
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

function valueFlaw(value: unknown): string | undefined {
  return value instanceof AlteredNumber ? value.detail : textFlaw(value);
}

function keyFlaw(key: string): string | undefined {
  return key === '__proto__' ? 'JavaScript objects do not hold safely' : textFlaw(key);
}
