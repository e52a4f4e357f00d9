/** DER, the encoding of certificates: a tag, a length, and the contents one after the other. */
export function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

export const sequence = (...contents: readonly Uint8Array[]) => der(0x30, ...contents);
export const set = (...contents: readonly Uint8Array[]) => der(0x31, ...contents);
export const octets = (...contents: readonly Uint8Array[]) => der(0x04, ...contents);
export const bits = (content: Uint8Array, unused = 0) => der(0x03, Buffer.from([unused]), content);
export const utf8 = (text: string) => der(0x0c, Buffer.from(text));
/** Of bytes that begin with a bit that is 0: it is not negative. */
export const integer = (content: Uint8Array) => der(0x02, content);
export const TRUE = der(0x01, Buffer.from([0xff]));

/** Years up to 2049, in seconds. */
export function utcTime(at: Date): Buffer {
  return der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));
}

/** `2.5.29.17`: two numbers in a byte, then each in sevens of bits. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return der(0x06, Buffer.from([40 * first + second, ...others.flatMap(sevens)]));
}

/** `[n]` of a CHOICE or an optional field. */
export function tagged(n: number, content: Uint8Array, { constructed = true } = {}): Buffer {
  return der((constructed ? 0xa0 : 0x80) + n, content);
}

function sevens(n: number): number[] {
  const digits = [n & 0x7f];
  for (let rest = n >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}
