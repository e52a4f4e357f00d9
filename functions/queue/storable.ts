import { UnstorableError } from './errors.ts';
import { flawsOf, MAX_DEPTH, pointerTo, textFlaw } from './flaws.ts';

/** Bytes of JSON that a result may take, and a payload that TypeScript enqueues. */
export const VALUE_MAX_BYTES = 262_144;

/**
 * The JSON text of a value that a program made, if jsonb can hold it; `undefined` becomes `null`.
 * As everywhere in JSON, NaN becomes null and Dates become text.
 * @throws UnstorableError with a JSON pointer: a cycle, a BigInt, a function, a symbol, NUL or half a surrogate pair in
 * a string or key, more than 100 levels, more than 256 KiB, a getter or toJSON that throws
 */
export function assertStorable(value: unknown): string {
  const text = textOf(value);
  if (Buffer.byteLength(text) > VALUE_MAX_BYTES) {
    throw new UnstorableError(
      '',
      `takes more than ${VALUE_MAX_BYTES} bytes as JSON; keep it elsewhere and pass on where`,
    );
  }
  if (ESCAPED.test(text)) {
    const [flaw] = flawsOf(JSON.parse(text), textFlaw);
    if (flaw !== undefined) throw new UnstorableError(flaw.pointer, flaw.detail);
  }
  return text;
}

/** How JSON.stringify writes what jsonb refuses. Also matches a harmless `\\u0000` behind a backslash, hence the second look. */
const ESCAPED = /\\u(?:0000|d[89a-f])/;

function textOf(value: unknown): string {
  const path = new Path();
  try {
    return (
      JSON.stringify(value, function (this: object, key: string, held: unknown) {
        path.enter(this, key, held);
        return held;
      }) ?? 'null'
    );
  } catch (error) {
    if (error instanceof UnstorableError) throw error;
    throw new UnstorableError('', 'cannot be turned into JSON: a getter or toJSON threw, or it is too large', {
      cause: error,
    });
  }
}

/** Where JSON.stringify is. It goes through all that an object holds before it goes on, so a stack is enough. */
class Path {
  /** The objects that it is in, the outermost first, which is JSON.stringify's own wrapper. */
  readonly #holders: object[] = [];
  /** Under which key each of them but the wrapper lies in the one before. */
  readonly #keys: string[] = [];

  enter(holder: object, key: string, held: unknown): void {
    switch (typeof held) {
      case 'bigint':
      case 'function':
      case 'symbol':
        throw new UnstorableError(this.#pointer(holder, key), `is a ${typeof held}, which JSON cannot hold`);
      case 'object':
        if (held !== null) this.#descend(holder, key, held);
    }
  }

  #descend(holder: object, key: string, held: object): void {
    this.#ascendTo(holder);
    if (this.#holders.length > MAX_DEPTH) {
      throw new UnstorableError('', `is nested deeper than ${MAX_DEPTH} levels`);
    }
    if (this.#holders.includes(held)) {
      throw new UnstorableError(this.#pointer(holder, key), 'holds an object that holds it (a cycle)');
    }
    this.#holders.push(held);
    this.#keys.push(key);
  }

  #ascendTo(holder: object): void {
    if (this.#holders.length === 0) this.#holders.push(holder);
    while (this.#holders.at(-1) !== holder) {
      this.#holders.pop();
      this.#keys.pop();
    }
  }

  #pointer(holder: object, key: string): string {
    this.#ascendTo(holder);
    // The first key is the wrapper's, which is empty.
    return pointerTo([...this.#keys, key].slice(1));
  }
}
