/** Any number that JavaScript alters has 16 digits in a row or an exponent (a point among fewer digits alters nothing). */
export const MAY_ALTER = /[0-9]{16}|[0-9][eE]/;

/** Stands for a number that would not come back as it was sent. */
export class AlteredNumber {
  readonly detail: string;
  constructor(source: string, value: number) {
    const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
    this.detail = `is the number ${shown}, which JSON parsing would turn into ${value}; send it as a string`;
  }
}

export type Reviver = (this: unknown, key: string, value: unknown) => unknown;

/**
 * `context.source` is the number's own text: in every V8 since Node 21, not yet in the type of JSON.parse. On Node 20, where
 * only the local runtime may run, there is none, and no number is marked.
 */
function mark(_key: string, value: unknown, { source }: { source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && isAltered(source, value)
    ? new AlteredNumber(source, value)
    : value;
}

/** For JSON.parse: puts an AlteredNumber in the place of each number that it would change. */
export const markAltered = mark as Reviver;

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
