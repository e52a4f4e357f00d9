import { applied, CodecError, type Envelope, isEnvelope } from './codec.ts';
import type { Contracts } from './contract.ts';
import { contractOf } from './kinds.ts';
import { SEALED } from './seal.ts';

/** Gives what an envelope holds. */
export type Open = (envelope: Envelope) => Promise<unknown>;

/**
 * A value as it was before it was sealed: each envelope in it, however deep, is opened by the codec of its kind, and the errors
 * of a job get their message and stack back. What is not sealed stays as it is. For payloads, results and errors that were read
 * by SQL; whoever calls it needs the codecs' keys.
 * @throws CodecError if an envelope is of a kind that has no codec here, or cannot be opened
 */
export function unseal(contracts: Contracts, value: unknown): Promise<unknown> {
  return unsealWith((envelope) => openEnvelope(contracts, envelope), value);
}

/** @throws CodecError that names the kind */
export async function openEnvelope(contracts: Contracts, { $sealed: { kind, data } }: Envelope): Promise<unknown> {
  const codec = contractOf(contracts, kind)?.codec;
  if (codec === undefined) throw new CodecError(`a value is sealed for the kind "${kind}", which has no codec here`);
  const plain = await applied(codec, 'decode', Buffer.from(data, 'base64'), kind);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(plain));
  } catch {
    // No cause: it would quote what was opened.
    throw new CodecError(`what the codec of "${kind}" opened is no JSON`);
  }
}

export async function unsealWith(open: Open, value: unknown): Promise<unknown> {
  if (isEnvelope(value)) return open(value);
  if (Array.isArray(value)) return Promise.all(value.map((held) => unsealWith(open, held)));
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value);
  const held = await Promise.all(Object.values(value).map((one) => unsealWith(open, one)));
  const opened = Object.fromEntries(keys.map((key, at) => [key, held[at]]));
  return isSealedError(value) ? withMessage(opened) : opened;
}

/** Not what only has fields of these names: a payload may. */
function isSealedError(value: { message?: unknown; sealed?: unknown }): boolean {
  return value.message === SEALED && isEnvelope(value.sealed);
}

/** An error whose message and stack were opened has them in their own places again. */
function withMessage({ sealed, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return isEnvelope(sealed) ? { ...rest, sealed } : { ...rest, ...(sealed as object) };
}

/** How Postgres writes an envelope in jsonb. No text value can look like it: a quote in one has a backslash. */
const ENVELOPE = /\{"\$sealed": \{"data": "([A-Za-z0-9+/=]*)", "kind": "([A-Za-z0-9._:-]{1,100})"\}\}/g;

/** The same for the text of jsonb. The rest is not parsed: numbers that only Postgres can hold stay as they are. */
export async function unsealText(open: Open, text: string): Promise<string> {
  const opened = [...text.matchAll(ENVELOPE)].map(([, data = '', kind = '']) => open({ $sealed: { kind, data } }));
  if (opened.length === 0) return text;
  const values = (await Promise.all(opened)).values();
  return text.replace(ENVELOPE, () => JSON.stringify(values.next().value));
}
