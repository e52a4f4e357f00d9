import { shorten } from './attempt-error.ts';
import { applied, type Codec, CodecError, type Envelope } from './codec.ts';
import type { Contract } from './contract.ts';
import type { AttemptError, ClaimedJob } from './job.ts';
import type { Outcome } from './outcome.ts';

/** An error as it is stored of a kind with a codec. Its class, its times and where it was stay legible. */
export interface SealedError extends AttemptError {
  /** Message and stack. */
  readonly sealed: Envelope;
}

type Sealing = Pick<Contract, 'codec'>;

/** A payload as it is stored: in an envelope if its kind has a codec. @throws CodecError */
export async function sealPayload({ codec }: Sealing, kind: string, payload: unknown): Promise<unknown> {
  return codec === undefined ? payload : sealed(codec, kind, payload);
}

/** A result likewise. Null stays null: it holds nothing. @throws CodecError */
export async function sealResult({ codec }: Sealing, kind: string, result: unknown): Promise<unknown> {
  return codec === undefined || result === null || result === undefined ? result : sealed(codec, kind, result);
}

/**
 * How an attempt went, as it may be written down: with its result or error in an envelope if the kind has a codec. A result
 * that cannot be sealed fails the attempt; an error that cannot be keeps its class, and nothing of its message. Never rejects.
 */
export function sealOutcome(
  outcome: Outcome,
  job: Pick<ClaimedJob, 'kind' | 'attempts'>,
  { codec }: Sealing,
): Outcome | Promise<Outcome> {
  if (codec === undefined) return outcome;
  if (outcome.kind === 'succeeded') return succeeded(codec, job, outcome);
  return outcome.kind === 'failed' ? failed(codec, job, outcome) : outcome;
}

async function succeeded(
  codec: Codec,
  { kind, attempts }: Pick<ClaimedJob, 'kind' | 'attempts'>,
  outcome: Outcome & { kind: 'succeeded' },
): Promise<Outcome> {
  try {
    return { kind: 'succeeded', result: await sealResult({ codec }, kind, outcome.result) };
  } catch (error) {
    const message = `the result could not be sealed: ${reasonOf(error)}`;
    const failed_at = new Date().toISOString();
    return {
      kind: 'failed',
      error: { attempt: attempts, failed_at, name: CodecError.name, message },
      permanent: false,
    };
  }
}

async function failed(
  codec: Codec,
  { kind }: Pick<ClaimedJob, 'kind'>,
  outcome: Outcome & { kind: 'failed' },
): Promise<Outcome> {
  const { message, stack, ...seen } = outcome.error;
  try {
    const envelope = await sealed(codec, kind, fitted(message, stack));
    const bytes = envelope.$sealed.data.length;
    if (bytes > SEALED_BYTES) throw new CodecError(`they take ${bytes} bytes then`);
    const error: SealedError = { ...seen, message: SEALED, sealed: envelope };
    return { ...outcome, error };
  } catch (error) {
    const reason = `message and stack are left out, since they could not be sealed: ${reasonOf(error)}`;
    return { ...outcome, error: { ...seen, message: reason } };
  }
}

/** In the place of a sealed error's message. */
export const SEALED = 'sealed';

/** Bytes of JSON: in base64, with what the codec adds and the rest of an error, it stays within the 4 KB of one. */
const MESSAGE_AND_STACK_BYTES = 2600;

/** What is kept of an error by a codec that adds more than ours: 20 of them are in a row that each claim and settle rewrites. */
const SEALED_BYTES = 8192;

function fitted(message: string, stack: string | undefined): Pick<AttemptError, 'message' | 'stack'> {
  const left = MESSAGE_AND_STACK_BYTES - Buffer.byteLength(JSON.stringify(message));
  return { message, ...(stack !== undefined && { stack: shorten(stack, left) }) };
}

async function sealed(codec: Codec, kind: string, value: unknown): Promise<Envelope> {
  const plain = Buffer.from(JSON.stringify(sorted(value)));
  const data = await applied(codec, 'encode', plain, kind);
  return { $sealed: { kind, data: Buffer.from(data).toString('base64') } };
}

/** Keys in one order, so that equal payloads are equal bytes: in the clear, jsonb sees to that. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, held]) => [key, sorted(held)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A codec may say anything, and it is stored. */
function reasonOf(error: unknown): string {
  return error instanceof CodecError ? shorten(error.message, REASON_BYTES) : 'an unforeseen error';
}

const REASON_BYTES = 1000;
