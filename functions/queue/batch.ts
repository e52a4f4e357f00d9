import type { ClaimedJob, JobId } from './job.ts';
import type { Settlement } from './outcome.ts';

export type Written = Exclude<Settlement, { kind: 'none' }>;

/** An attempt that has ended, and what is to be written for it. */
export interface Ended {
  readonly job: ClaimedJob;
  readonly settlement: Written;
  /** About what it takes on the wire or, for a burial, moves in the database. */
  readonly bytes: number;
  /** Milliseconds of the worker's monotonic clock; undefined if it was given back unstarted. */
  readonly startedAt?: number | undefined;
  readonly durationMs: number;
}

/** 500 rows take 1.0 to 1.4 times the jobs a second of 100, more brings nothing (measured). Bytes bound one message. */
const SETTLE_LIMITS = { rows: 500, bytes: 4 * 1024 * 1024 };

/**
 * Those that one statement of `verb` settles next: in order of their end, within the limits, the first always. No job is
 * in it twice (its older claim is stale), since the answer names jobs, not claims.
 */
export function nextBatch(
  ended: readonly Ended[],
  verb: Written['kind'],
  limits: { readonly rows: number; readonly bytes: number } = SETTLE_LIMITS,
): Ended[] {
  const batch: Ended[] = [];
  const ids = new Set<JobId>();
  let bytes = 0;
  for (const one of ended) {
    if (one.settlement.kind !== verb || ids.has(one.job.id)) continue;
    bytes += one.bytes;
    if (batch.length > 0 && (batch.length === limits.rows || bytes > limits.bytes)) break;
    batch.push(one);
    ids.add(one.job.id);
  }
  return batch;
}

/** Id and token, and the JSON that goes with them. */
const ROW_BYTES = 80;

/**
 * A burial copies the payload, twice with what `onDead` puts in: 4 MiB take up to half a second, and a statement has ten.
 * `payload`: of the job.
 */
export function bytesOf(settlement: Written, payload: unknown): number {
  switch (settlement.kind) {
    case 'complete':
      return ROW_BYTES + jsonBytes(settlement.result);
    case 'retry':
      return ROW_BYTES + jsonBytes(settlement.error);
    case 'bury':
      return ROW_BYTES + jsonBytes(settlement.error) + payloadBytes(payload);
    case 'release':
      return ROW_BYTES;
  }
}

/** `upcast` may have made of it what is no JSON any more; such a job is buried alone. */
function payloadBytes(payload: unknown): number {
  try {
    return jsonBytes(payload);
  } catch {
    return Infinity;
  }
}

function jsonBytes(value: unknown): number {
  // Most results are nothing or a number; they are not worth a JSON.stringify.
  if (typeof value === 'string' || (typeof value === 'object' && value !== null)) {
    return Buffer.byteLength(JSON.stringify(value) ?? '');
  }
  return 8;
}
