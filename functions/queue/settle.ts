import { aroundBlocked, type Patience } from './around-blocked.ts';
import type { Ended, Written } from './batch.ts';
import { bury } from './bury.ts';
import { complete } from './complete.ts';
import type { Db } from './db.ts';
import type { Returned } from './give-back.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import type { OnDead } from './on-dead.ts';
import { faultOf } from './postgres-error.ts';
import { release } from './release.ts';
import { retry } from './retry.ts';

/** What the database made of it. `refused`: not even its error could be stored, so its lease has to run out. */
export type Verdict = 'completed' | 'retried' | 'buried' | 'released' | 'cancelled' | 'overtaken' | 'refused';

export interface Settled {
  /** As it was written: a result that could not be stored has become a bury. */
  readonly ended: Ended;
  readonly verdict: Verdict;
}

export interface Settlements {
  readonly settled: readonly Settled[];
  /** Somebody's open transaction holds the job's row: nothing was written, and it is to be tried again. */
  readonly blocked: readonly Ended[];
}

/**
 * Settles attempts of one verb in one statement. A batch with a bad value, or with a row that somebody holds, is settled row
 * by row, so that such a row costs only itself. Rejects if the database failed; then it is to be repeated whole, which is
 * harmless: what was accepted before is accepted again by its token.
 * `onDead`: the jobs that are put in for those that are buried. Default none.
 */
export async function settle(db: Db, batch: readonly Ended[], onDead?: OnDead): Promise<Settlements> {
  try {
    return sorted(batch, await write(db, batch, onDead));
  } catch (error) {
    if (faultOf(error) !== 'row') throw error;
    const [only] = batch;
    if (only === undefined || batch.length > 1) return oneByOne(db, batch, onDead);
    const other = instead(only, error);
    return other
      ? settle(db, [{ ...only, settlement: other }], onDead)
      : { settled: [{ ended: only, verdict: 'refused' }], blocked: [] };
  }
}

async function oneByOne(db: Db, batch: readonly Ended[], onDead: OnDead | undefined): Promise<Settlements> {
  const all: Settlements[] = [];
  for (const ended of batch) all.push(await settle(db, [ended], onDead));
  return { settled: all.flatMap(({ settled }) => settled), blocked: all.flatMap(({ blocked }) => blocked) };
}

function sorted(batch: readonly Ended[], verdicts: ReadonlyMap<JobId, Verdict | 'blocked'>): Settlements {
  const settled: Settled[] = [];
  const blocked: Ended[] = [];
  for (const ended of batch) {
    const verdict = verdicts.get(ended.job.id) ?? 'overtaken';
    if (verdict === 'blocked') blocked.push(ended);
    else settled.push({ ended, verdict });
  }
  return { settled, blocked };
}

async function write(
  db: Db,
  batch: readonly Ended[],
  onDead: OnDead | undefined,
): Promise<Map<JobId, Verdict | 'blocked'>> {
  const verb = batch[0]?.settlement.kind;
  switch (verb) {
    case 'complete':
      return accepted('completed', claims(batch, verb), (some, patience) => complete(db, some, patience));
    case 'bury':
      return accepted('buried', claims(batch, verb), (some, patience) => bury(db, some, { patience, onDead }));
    case 'retry':
      return returned('retried', await retry(db, claims(batch, verb)));
    case 'release':
      return returned('released', await release(db, claims(batch, verb)));
    case undefined:
      return new Map();
  }
}

function claims<Verb extends Written['kind']>(
  batch: readonly Ended[],
  verb: Verb,
): (Claim & Extract<Written, { kind: Verb }>)[] {
  const isOfVerb = (settlement: Written): settlement is Extract<Written, { kind: Verb }> => settlement.kind === verb;
  return batch.flatMap(({ job: { id, token }, settlement }) =>
    isOfVerb(settlement) ? [{ ...settlement, id, token }] : [],
  );
}

async function accepted<C extends Claim>(
  verdict: Verdict,
  all: readonly C[],
  verb: (some: readonly C[], patience: Patience) => Promise<JobId[]>,
): Promise<Map<JobId, Verdict | 'blocked'>> {
  const verdicts = new Map<JobId, Verdict | 'blocked'>();
  const done = await aroundBlocked(all, verb, ({ id }) => {
    verdicts.set(id, 'blocked');
    return [];
  });
  for (const id of done) verdicts.set(id, verdict);
  return verdicts;
}

function returned(verdict: Verdict, rows: readonly Returned[]): Map<JobId, Verdict | 'blocked'> {
  return new Map(rows.map(({ id, status }) => [id, status === 'pending' ? verdict : status]));
}

/** What is written for a row that fails even alone. A job whose result cannot be kept is not run again: that would repeat its effects. */
function instead({ job, settlement }: Ended, cause: unknown): Written | undefined {
  if (settlement.kind === 'release') return undefined;
  if (settlement.kind === 'complete') return { kind: 'bury', error: unstorable('result', job.attempts, cause) };
  const { error } = settlement;
  if (error.name === UNSTORABLE) return undefined;
  return { ...settlement, error: { ...circumstances(error), ...unstorable('error', job.attempts, cause) } };
}

/** When and where it failed stays known. */
function circumstances({ started_at, failed_at, where }: AttemptError): Partial<AttemptError> {
  return { ...(started_at && { started_at }), ...(failed_at && { failed_at }), ...(where && { where }) };
}

function unstorable(what: 'result' | 'error', attempt: number, cause: unknown): AttemptError {
  const why =
    cause instanceof Error ? cause.message.slice(0, 500).toWellFormed().replaceAll('\0', '\uFFFD') : 'unknown';
  return { attempt, name: UNSTORABLE, message: `the ${what} could not be stored: ${why}` };
}

const UNSTORABLE = 'UnstorableError';
