import type { Ended, Written } from './batch.ts';
import { bury } from './bury.ts';
import { complete } from './complete.ts';
import type { Db } from './db.ts';
import type { AttemptError, Claim, JobId } from './job.ts';
import { faultOf } from './postgres-error.ts';
import { release } from './release.ts';
import { type Returned, retry } from './retry.ts';

/** What the database made of it. `refused`: not even its error could be stored, so its lease has to run out. */
export type Verdict = 'completed' | 'retried' | 'buried' | 'released' | 'cancelled' | 'overtaken' | 'refused';

export interface Settled {
  /** As it was written: a result that could not be stored has become a bury. */
  readonly ended: Ended;
  readonly verdict: Verdict;
}

/**
 * Settles attempts of one verb in one statement. A batch with a bad value is settled row by row, so that a bad row costs
 * only itself. Rejects if the database failed; then it is to be repeated whole, which is harmless: what was accepted
 * before is accepted again by its token.
 */
export async function settle(db: Db, batch: readonly Ended[]): Promise<Settled[]> {
  try {
    const verdicts = await write(db, batch);
    return batch.map((ended) => ({ ended, verdict: verdicts.get(ended.job.id) ?? 'overtaken' }));
  } catch (error) {
    if (faultOf(error) !== 'row') throw error;
    const [only] = batch;
    if (only === undefined || batch.length > 1) return oneByOne(db, batch);
    const other = instead(only, error);
    return other ? settle(db, [{ ...only, settlement: other }]) : [{ ended: only, verdict: 'refused' }];
  }
}

async function oneByOne(db: Db, batch: readonly Ended[]): Promise<Settled[]> {
  const settled: Settled[] = [];
  for (const ended of batch) settled.push(...(await settle(db, [ended])));
  return settled;
}

async function write(db: Db, batch: readonly Ended[]): Promise<Map<JobId, Verdict>> {
  const verb = batch[0]?.settlement.kind;
  switch (verb) {
    case 'complete':
      return all('completed', await complete(db, claims(batch, verb)));
    case 'bury':
      return all('buried', await bury(db, claims(batch, verb)));
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

function all(verdict: Verdict, ids: readonly JobId[]): Map<JobId, Verdict> {
  return new Map(ids.map((id) => [id, verdict]));
}

function returned(verdict: Verdict, rows: readonly Returned[]): Map<JobId, Verdict> {
  return new Map(rows.map(({ id, status }) => [id, status === 'cancelled' ? 'cancelled' : verdict]));
}

/** What is written for a row that fails even alone. A job whose result cannot be kept is not run again: that would repeat its effects. */
function instead({ job, settlement }: Ended, cause: unknown): Written | undefined {
  if (settlement.kind === 'release') return undefined;
  if (settlement.kind === 'complete') return { kind: 'bury', error: unstorable('result', job.attempts, cause) };
  if (settlement.error.name === UNSTORABLE) return undefined;
  return { ...settlement, error: unstorable('error', job.attempts, cause) };
}

function unstorable(what: 'result' | 'error', attempt: number, cause: unknown): AttemptError {
  const why =
    cause instanceof Error ? cause.message.slice(0, 500).toWellFormed().replaceAll('\0', '\uFFFD') : 'unknown';
  return { attempt, name: UNSTORABLE, message: `the ${what} could not be stored: ${why}` };
}

const UNSTORABLE = 'UnstorableError';
