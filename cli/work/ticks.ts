import { setTimeout as sleep } from 'node:timers/promises';
import { Database } from '../../functions/lambda/database.ts';
import type { DatabaseEnv, reapEnv } from '../../functions/lambda/env.ts';
import { snakeCased } from '../../functions/lambda/telemetry.ts';
import type { Log } from '../../functions/queue/context.ts';
import type { Contracts } from '../../functions/queue/contract.ts';
import { sqlState } from '../../functions/queue/postgres-error.ts';
import { StateMarks } from '../../functions/queue/state-marks.ts';
import { LeaseMark } from '../../functions/reap/lease-mark.ts';
import { tick } from '../../functions/reap/tick.ts';

export interface TicksOptions {
  readonly database: DatabaseEnv;
  readonly retention: ReturnType<(typeof reapEnv)['parse']>;
  readonly contracts: Contracts;
  readonly everySeconds: number;
  readonly log: Log;
  /** Ends it: no further statement is begun. */
  readonly stop: AbortSignal;
}

/** Seconds after which a tick begins no other statement, as a reaper's of 60 s on Lambda. */
const TICK_SECONDS = 45;

/**
 * What the reaper does on Lambda, each minute, beside the runs: several workers may do so at once. The first tick is at once,
 * for what a worker has left that died; then they come apart. Resolves when it was told to stop and the last one has ended.
 */
export async function tickOn({ database, retention, contracts, everySeconds, log, stop }: TicksOptions): Promise<void> {
  const db = new Database(database, 'reap');
  const mark = new LeaseMark();
  const stateMarks = new StateMarks();
  while (!stop.aborted) {
    const latest = performance.now() + TICK_SECONDS * 1000;
    const { done, failures } = await tick({
      db,
      log,
      contracts: async () => contracts,
      mark,
      stateMarks,
      keepDays: retention.RETENTION_DAYS,
      deadKeepDays: retention.DEAD_RETENTION_DAYS,
      keyKeepDays: retention.IDEMPOTENCY_RETENTION_DAYS,
      timeLeft: () => !stop.aborted && performance.now() < latest,
    });
    log.info('tick ended', snakeCased(done));
    for (const { part, error } of failures) log.error('a part of the tick failed', { part, error, ...hint(error) });
    await sleep(everySeconds * (0.9 + 0.2 * Math.random()) * 1000, undefined, { signal: stop }).catch(() => {});
  }
  await db.end();
}

/** insufficient_privilege. */
const REFUSED = '42501';

function hint(error: unknown) {
  if (sqlState(error) !== REFUSED) return {};
  return { hint: 'this login may not reap: with --no-reap it is left to one that may (docs/roles.md)' };
}
