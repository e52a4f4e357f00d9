import { CANARY } from './canary.ts';
import type { Contract, Contracts } from './contract.ts';
import type { NewJob } from './enqueue.ts';
import { type Flaw, MAX_FLAWS } from './flaws.ts';
import { JOB_FIELDS, jobRequest } from './job-request.ts';
import { contractOf, knownKinds } from './kinds.ts';
import { upcasted } from './payload.ts';
import { parseRunAt } from './run-at.ts';
import { sealPayload } from './seal.ts';
import { holdsSealed } from './sealed-parts.ts';
import { flawsOfIssues } from './zod-flaws.ts';

export type Validated =
  | { readonly kind: 'valid'; readonly job: NewJob }
  | { readonly kind: 'invalid'; readonly flaws: readonly Flaw[] }
  | { readonly kind: 'unknown_kind'; readonly flaws: readonly Flaw[] }
  | { readonly kind: 'too_large'; readonly payloadBytes: number };

/**
 * Turns a request for a job, already parsed from JSON, into the job; queue and max_attempts come from the kind's contract
 * where it names none. The payload stays as sent, not as `upcast` and schema transform it, since the worker reads it again;
 * sealed if the kind has a codec. `payloadMaxBytes` counts UTF-8 bytes of the payload as compact JSON, before that.
 * @throws CodecError if it cannot be sealed
 */
export async function validate(
  request: unknown,
  contracts: Contracts,
  { payloadMaxBytes }: { payloadMaxBytes: number },
): Promise<Validated> {
  const parsed = jobRequest.safeParse(request);
  if (parsed.error?.issues.some((issue) => issue.path.length === 0 && issue.code === 'invalid_type')) {
    return { kind: 'invalid', flaws: flawsOfIssues(parsed.error.issues) };
  }
  const { kind, payload, run_at } = request as Record<string, unknown>;
  const payloadBytes = Buffer.byteLength(JSON.stringify(payload ?? null));
  if (payloadBytes > payloadMaxBytes) return { kind: 'too_large', payloadBytes };

  const contract = typeof kind === 'string' ? contractOf(contracts, kind) : undefined;
  const runAt = typeof run_at === 'string' ? parseRunAt(run_at) : undefined;
  const flaws: Flaw[] = flawsOfIssues(parsed.error?.issues ?? [], { known: JOB_FIELDS });
  if (runAt !== undefined && 'flaw' in runAt) flaws.push({ pointer: '/run_at', detail: runAt.flaw });
  if (contract === undefined) return { kind: 'unknown_kind', flaws: [kindFlaw(kind, contracts), ...flaws] };
  if (payload !== undefined) {
    const isSealed = holdsSealed({ kind: kind as string, payload }, contracts);
    flaws.push(...(isSealed ? [SEALED] : await payloadFlaws(payload, kind as string, contract)));
  }
  if (!parsed.success || flaws.length > 0) return { kind: 'invalid', flaws: flaws.slice(0, MAX_FLAWS) };

  const { data } = parsed;
  const job: NewJob = {
    kind: kind as string,
    payload: await sealPayload(contract, kind as string, payload),
    queue: data.queue ?? contract.queue,
    subject: data.subject,
    priority: data.priority,
    runAt: runAt !== undefined && 'runAt' in runAt ? runAt.runAt : undefined,
    delaySeconds: data.delay_seconds,
    maxAttempts: data.max_attempts ?? contract.maxAttempts,
    idempotencyKey: data.idempotency_key,
    uniqueKey: data.unique_key,
    uniqueWhile: data.unique_while,
    replace: data.replace,
  };
  return { kind: 'valid', job };
}

function kindFlaw(kind: unknown, contracts: Contracts): Flaw {
  const problem = kind === undefined ? 'is required' : 'is not a known kind';
  return { pointer: '/kind', detail: `${problem}; known kinds: ${knownKinds(contracts, CANARY)}` };
}

const SEALED: Flaw = { pointer: '/payload', detail: 'is or holds a sealed value: send it in clear' };

/** Code of the contract (upcast, a transform, a refinement) may throw on a value it never thought of: that, too, is a misfit. */
async function payloadFlaws(payload: unknown, kind: string, { payload: schema, upcast }: Contract): Promise<Flaw[]> {
  let reader = 'upcast';
  try {
    // What it does to the value must not change what is stored.
    const today = upcasted({ upcast }, kind, upcast === undefined ? payload : structuredClone(payload));
    reader = 'schema';
    const { error } = await schema.safeParseAsync(today);
    return error === undefined ? [] : flawsOfIssues(error.issues, { base: ['payload'] });
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    return [{ pointer: '/payload', detail: `cannot be read by the ${reader} of its kind, which threw ${name}` }];
  }
}
