import { types } from 'node:util';
import { MillraceError } from './errors.ts';

/**
 * What keeps a kind's payloads, results and errors unreadable where they are stored: see `codec` of defineJob. It works on
 * bytes, so that it can encrypt, and knows the kind they are of, so that it can bind them to it. `aesGcm` is a ready one.
 * It has 5 s for each call, and its kind is the name that the job was put in by, which may be an alias.
 */
export interface Codec {
  /**
   * The same bytes for the same input, if producers use idempotency keys: equal payloads are known by what is stored.
   * What it throws keeps the job from being stored, or fails the attempt whose result it is.
   */
  encode(plain: Uint8Array, about: { readonly kind: string }): Uint8Array | Promise<Uint8Array>;
  /** What it throws fails the attempt, which is retried. */
  decode(stored: Uint8Array, about: { readonly kind: string }): Uint8Array | Promise<Uint8Array>;
}

/**
 * A value cannot be sealed or opened. A codec may throw one itself to say why: its message is stored and answered in clear,
 * so it must hold nothing of the value. Of anything else that a codec throws only the class is told.
 */
export class CodecError extends MillraceError {
  static override readonly name: string = 'CodecError';
  readonly code = 'codec';
}

/** How a sealed value is stored: in the place of a payload, of a result, or of an error's message and stack. */
export interface Envelope {
  readonly $sealed: {
    /** Name that the job was put in by. */
    readonly kind: string;
    /** What the codec made of the value's JSON, in base64. */
    readonly data: string;
  };
}

export function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null || !('$sealed' in value)) return false;
  const { $sealed: sealed } = value as { $sealed: unknown };
  if (Object.keys(value).length !== 1 || typeof sealed !== 'object' || sealed === null) return false;
  const { kind, data } = sealed as Record<string, unknown>;
  return typeof kind === 'string' && typeof data === 'string';
}

/** Milliseconds. An attempt's deadline and grace, this and its settling fit into its lease. */
const PATIENCE_MS = 5000;

/** What a codec makes of bytes. @throws CodecError that holds nothing of them; what the codec threw is its `cause` */
export async function applied(
  codec: Codec,
  verb: 'encode' | 'decode',
  bytes: Uint8Array,
  kind: string,
  patienceMs = PATIENCE_MS,
): Promise<Uint8Array> {
  try {
    const made: unknown = await soon(codec[verb](bytes, { kind }), patienceMs);
    if (types.isUint8Array(made)) return made;
    throw new CodecError(`${verb} gave no Uint8Array`);
  } catch (error) {
    throw new CodecError(`the codec of "${kind}" ${reasonOf(error)}`, { cause: error });
  }
}

/** Of whatever was thrown: a Proxy that throws at every look must not get past its catch. */
function reasonOf(error: unknown): string {
  try {
    if (error instanceof CodecError) return `failed: ${error.message}`;
    return `threw ${error instanceof Error ? error.constructor.name : typeof error}`;
  } catch {
    return 'threw what cannot be read';
  }
}

/** What is no bytes yet may be any thenable: not each library's promise is one of the language. */
async function soon(value: unknown, patienceMs: number): Promise<unknown> {
  if (types.isUint8Array(value)) return value;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CodecError(`it took longer than ${patienceMs / 1000} s`)), patienceMs);
  });
  return Promise.race([value, late]).finally(() => clearTimeout(timer));
}
