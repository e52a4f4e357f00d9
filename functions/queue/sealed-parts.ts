import { type Envelope, isEnvelope } from './codec.ts';
import type { Contract, Contracts } from './contract.ts';
import type { ClaimedJob } from './job.ts';
import { contractOf, onDeadNames } from './kinds.ts';

type Put = Pick<ClaimedJob, 'kind' | 'payload'>;

/** The envelopes of a job that tells of a death: in the places where the burying statement lays them, and in no others. */
export function envelopesOfDeath({ kind, payload }: Put, contracts: Contracts): Envelope[] {
  if (typeof payload !== 'object' || payload === null || !onDeadNames(contracts).has(kind)) return [];
  const { payload: died, error } = payload as { payload?: unknown; error?: { sealed?: unknown } | null };
  return [died, error?.sealed].filter(isEnvelope);
}

/** Whether a worker would open something in it. A producer may put in no such thing: it might be told what comes of it. */
export function holdsSealed(job: Put, contracts: Contracts): boolean {
  return isEnvelope(job.payload) || envelopesOfDeath(job, contracts).length > 0;
}

/** By which codec what comes of a job is sealed, and as which kind. */
export interface Sealing extends Pick<Contract, 'codec'> {
  readonly kind: string;
}

/** That of its kind. A job that tells of a sealed death has been given what was sealed, so what it says is kept as that was. */
export function sealingOf(job: Put, { codec }: Pick<Contract, 'codec'>, contracts: Contracts): Sealing {
  if (codec !== undefined) return { kind: job.kind, codec };
  const [envelope] = envelopesOfDeath(job, contracts);
  const kind = envelope?.$sealed.kind ?? job.kind;
  return { kind, codec: envelope && contractOf(contracts, kind)?.codec };
}
