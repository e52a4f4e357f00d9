import { camelCased } from '../../client/names.ts';
import type { Readiness } from '../../functions/queue/readiness.ts';
import type { Vitals } from '../../functions/queue/vitals.ts';
import type { Answer } from './api.ts';
import { NotKnownError } from './finding.ts';

export interface State extends Readiness {
  /** Since a worker last said that it is there; null: never. */
  readonly secondsSinceWorker: number | null;
}

/** Whether it says what GET /ready does. */
export function isState({ body }: Answer): boolean {
  const { lag_seconds, schema_version, ...lists } = body;
  const areLists = [lists.paused, lists.unclaimed_kinds, lists.unclaimed_queues].every(Array.isArray);
  return typeof lag_seconds === 'number' && typeof schema_version === 'number' && areLists;
}

/** @throws NotKnownError for what something else answers */
export function stateOfAnswer(answer: Answer): State {
  if (!isState(answer)) throw new NotKnownError('takes a state of the queue by GET /ready');
  const { body, headers } = answer;
  const { database: _, ...state } = camelCased(body) as Readiness & { database?: unknown };
  // The clock of who answered, which is nearer to the database's than the one here.
  const now = Date.parse(String(headers.date));
  return stateOfDatabase(state, Number.isNaN(now) ? Date.now() : now);
}

export function stateOfDatabase(state: Readiness, nowMs: number): State {
  const { lastWorkerAt } = state;
  const seconds = lastWorkerAt === null ? null : Math.max(0, (nowMs - Date.parse(lastWorkerAt)) / 1000);
  return { ...state, secondsSinceWorker: seconds };
}

/** undefined: a release that does not know `include=database` left it out. */
export function vitalsOfAnswer({ body }: Answer): Vitals | undefined {
  return (camelCased(body) as { database?: Vitals }).database;
}
