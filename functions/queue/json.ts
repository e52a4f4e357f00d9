import { type Flaw, flawsOf, MAX_DEPTH, textFlaw } from './flaws.ts';

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
  const tooDeep = depthFlaw(text);
  if (tooDeep !== undefined) return { kind: 'flawed', flaws: [{ pointer: '', detail: tooDeep }] };
  let value: unknown;
  try {
    value = MAY_ALTER.test(text) ? JSON.parse(text, markAltered as Reviver) : JSON.parse(text);
  } catch (error) {
    return { kind: 'malformed', detail: error instanceof Error ? error.message : String(error) };
  }
  const flaws = flawsOf(value, valueFlaw, keyFlaw);
  return flaws.length === 0 ? { kind: 'parsed', value } : { kind: 'flawed', flaws };
}

/** Scans before parsing: a reviver recurses, so 10,000 levels would end the stack there. */
function depthFlaw(text: string): string | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at);
        break;
      case '{':
      case '[':
        if (++depth > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels, at character ${at + 1}`;
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

/** Any number that JavaScript alters has 16 digits in a row or an exponent (a point among fewer digits alters nothing). */
const MAY_ALTER = /[0-9]{16}|[0-9][eE]/;

/** Stands for a number that would not come back as it was sent. */
class AlteredNumber {
  readonly detail: string;
  constructor(source: string, value: number) {
    const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
    this.detail = `is the number ${shown}, which JSON parsing would turn into ${value}; send it as a string`;
  }
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

/** `context.source` is the number's own text: in every V8 since Node 21, not yet in the type of JSON.parse. */
function markAltered(_key: string, value: unknown, context: { source?: string }): unknown {
  const { source } = context;
  return typeof value === 'number' && source !== undefined && isAltered(source, value)
    ? new AlteredNumber(source, value)
    : value;
}

/** Fractions may lose digits, as everywhere in JSON; integers may not, nor may a number become infinite or nothing. */
function isAltered(source: string, value: number): boolean {
  const sent = decimal(source);
  if (!Number.isFinite(value) || (value === 0 && sent.digits !== '')) return true;
  if (sent.exponent < 0) return false;
  const kept = decimal(String(value));
  return kept.digits !== sent.digits || kept.exponent !== sent.exponent;
}

/** A number's text as digits × 10^exponent, without zeros at either end: equal numbers become equal. */
function decimal(text: string): { digits: string; exponent: number } {
  const [mantissa = '', power = '0'] = text.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  // Loops, since /0+$/ takes quadratic time on a long row of zeros that ends in a 1.
  let start = 0;
  while (digits[start] === '0') start++;
  let end = digits.length;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return { digits: '', exponent: 0 };
  return { digits: digits.slice(start, end), exponent: Number(power) - fraction.length + digits.length - end };
}

function valueFlaw(value: unknown): string | undefined {
  return value instanceof AlteredNumber ? value.detail : textFlaw(value);
}

function keyFlaw(key: string): string | undefined {
  return key === '__proto__' ? 'JavaScript objects do not hold safely' : textFlaw(key);
}
