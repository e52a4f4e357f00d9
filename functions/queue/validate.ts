import type { Contract, Contracts } from './contract.ts';
import type { NewJob } from './enqueue.ts';
import { type Flaw, MAX_FLAWS } from './flaws.ts';
import { JOB_FIELDS, jobRequest } from './job-request.ts';
import { parseRunAt } from './run-at.ts';
import { flawsOfIssues } from './zod-flaws.ts';

export type Validated =
  | { readonly kind: 'valid'; readonly job: NewJob }
  | { readonly kind: 'invalid'; readonly flaws: readonly Flaw[] }
  | { readonly kind: 'unknown_kind'; readonly flaws: readonly Flaw[] }
  | { readonly kind: 'too_large'; readonly payloadBytes: number };

/**
 * Turns a request for a job, already parsed from JSON, into the job; queue and max_attempts come from the kind's contract
 * where it names none. The payload stays as sent, not as its schema transforms it: the worker parses it again.
 * `payloadMaxBytes` counts UTF-8 bytes of the payload as compact JSON.
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

  const contract = contractOf(kind, contracts);
  const runAt = typeof run_at === 'string' ? parseRunAt(run_at) : undefined;
  const flaws: Flaw[] = flawsOfIssues(parsed.error?.issues ?? [], { known: JOB_FIELDS });
  if (runAt !== undefined && 'flaw' in runAt) flaws.push({ pointer: '/run_at', detail: runAt.flaw });
  if (contract === undefined) return { kind: 'unknown_kind', flaws: [kindFlaw(kind, contracts), ...flaws] };
  if (payload !== undefined) flaws.push(...(await payloadFlaws(payload, contract)));
  if (!parsed.success || flaws.length > 0) return { kind: 'invalid', flaws: flaws.slice(0, MAX_FLAWS) };

  const { data } = parsed;
  const job: NewJob = {
    kind: kind as string,
    payload,
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

/** Own properties only: "constructor" is no kind. */
function contractOf(kind: unknown, contracts: Contracts): Contract | undefined {
  return typeof kind === 'string' && Object.hasOwn(contracts, kind) ? contracts[kind] : undefined;
}

const KINDS_SHOWN = 50;

function kindFlaw(kind: unknown, contracts: Contracts): Flaw {
  const known = Object.keys(contracts).sort();
  const shown = known.slice(0, KINDS_SHOWN).join(', ');
  const rest = known.length > KINDS_SHOWN ? `, … (${known.length} in all)` : '';
  const problem = kind === undefined ? 'is required' : 'is not a known kind';
  return { pointer: '/kind', detail: `${problem}; known kinds: ${shown || 'none'}${rest}` };
}

/** A schema's own code (a transform, a refinement) may throw on a value it never thought of: that, too, is a misfit. */
async function payloadFlaws(payload: unknown, contract: Contract): Promise<Flaw[]> {
  try {
    const { error } = await contract.payload.safeParseAsync(payload);
    return error === undefined ? [] : flawsOfIssues(error.issues, { base: ['payload'] });
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error;
    return [{ pointer: '/payload', detail: `cannot be read by the schema of its kind, which threw ${name}` }];
  }
}
