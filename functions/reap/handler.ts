import type { Context } from 'aws-lambda';
import { Database } from '../lambda/database.ts';
import { databaseEnv, readEnv, reapEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { once } from '../lambda/once.ts';
import { putMetrics, snakeCased } from '../lambda/telemetry.ts';
import { StateMarks } from '../queue/state-marks.ts';
import { LeaseMark } from './lease-mark.ts';
import { type ReapSummary, tick } from './tick.ts';

/** Milliseconds that must remain to begin another statement. */
const LEAST_MS = 15_000;

const database = once(() => new Database(readEnv(databaseEnv), 'reap'));
const mark = new LeaseMark();
const stateMarks = new StateMarks();

/** One tick of the reaper. What failed of it is thrown at the end, all of it. */
export async function handler(_event: unknown, context: Context): Promise<ReapSummary> {
  const log = createLog({ function: 'reap', aws_request_id: context.awsRequestId });
  const {
    RETENTION_DAYS: keepDays,
    DEAD_RETENTION_DAYS: deadKeepDays,
    IDEMPOTENCY_RETENTION_DAYS: keyKeepDays,
  } = readEnv(reapEnv);
  const { done, measured, failures } = await tick({
    db: database(),
    log,
    // Loaded within the tick: contracts that throw must not keep jobs from being taken back.
    contracts: async () => (await import('#contracts')).contracts,
    mark,
    stateMarks,
    keepDays,
    deadKeepDays,
    keyKeepDays,
    timeLeft: () => context.getRemainingTimeInMillis() > LEAST_MS,
  });
  putMetrics(context, { JobsReaped: [done.reaped, 'Count'], JobsBuried: [done.buried, 'Count'], ...measured });
  log.info('tick ended', snakeCased(done));
  for (const { part, error } of failures) log.error('a part of the tick failed', { part, error });
  if (failures.length > 0) {
    const parts = failures.map(({ part }) => part).join(', ');
    throw new AggregateError(
      failures.map(({ error }) => error),
      `these parts of the tick failed: ${parts}`,
    );
  }
  return done;
}
