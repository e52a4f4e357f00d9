import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { connector } from '../lambda/connect.ts';
import { databaseEnv, readEnv, workerEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { once } from '../lambda/once.ts';
import { putSecretsIntoEnv } from '../lambda/secrets-into-env.ts';
import { shutdown } from '../lambda/shutdown.ts';
import { loggedEvents, putMetrics, snakeCased } from '../lambda/telemetry.ts';
import type { Log } from '../queue/context.ts';
import { lingerSeconds } from '../queue/pickup.ts';
import { RunFailedError, type RunSummary, run } from '../queue/run.ts';
import { loadJobs } from './jobs.ts';

const connect = once(() => connector(readEnv(databaseEnv), 'work'));

// A sandbox starts with a whole CPU and before its timeout counts, so what is heavy is loaded then. Processors with secrets
// have to wait for these. Why they could not be loaded is said by the run, which tries it again.
if (!process.env.WORKER_SECRETS) await loadJobs().catch(() => {});

/** `slot`: which of the fleet's places this run is to have. `woken`: somebody has put a job in and found nobody there. */
const start = z.object({ slot: z.int().min(0), woken: z.boolean().default(false) });

/**
 * A start of a worker, by the tick of a slot or by whoever woke it: works until it is relieved, its time is up, or there is nothing
 * to do for as long as `pickup` says. One that is not needed leaves at once. Resolves the summary; throws for the database, a secret
 * or a setting, never for a job.
 */
export async function handler(event: unknown, context: Context): Promise<RunSummary> {
  // Before anything can go wrong: an alarm waits for it to fail to come.
  putMetrics(context, { TicksStarted: [1, 'Count'] });
  const { slot, woken } = start.parse(event);
  const env = readEnv(workerEnv);
  // `request_id` is that of a job's own request.
  const log = createLog({ function: 'work', aws_request_id: context.awsRequestId, slot });
  await putSecretsIntoEnv(env.WORKER_SECRETS ?? {}, log);
  const { contracts, processors, middleware, schedules } = await loadJobs().catch((error) => endSandbox(error, log));
  const report = (summary: RunSummary) => {
    log.info('run ended', snakeCased(summary));
    putMetrics(context, {
      JobsCompleted: [summary.completed, 'Count'],
      JobsRetried: [summary.retried, 'Count'],
      JobsBuried: [summary.buried, 'Count'],
    });
    return summary;
  };
  try {
    const summary = await run({
      contracts,
      processors,
      middleware,
      schedules,
      connect: connect(),
      queues: env.WORKER_QUEUES,
      concurrency: env.WORKER_CONCURRENCY,
      transactions: env.WORKER_TRANSACTIONS,
      remainingMs: () => context.getRemainingTimeInMillis(),
      slot: { worker: context.functionName, slot, woken },
      lingerSeconds: lingerSeconds(env.WORKER_PICKUP, { slot, woken }),
      signal: shutdown,
      emit: loggedEvents(log),
      log,
      // All that finds the lines of this run in CloudWatch.
      where: [context.functionName, context.awsRequestId, context.logStreamName].filter(Boolean).join(' '),
    });
    return report(summary);
  } catch (error) {
    if (error instanceof RunFailedError) report(error.summary);
    throw error;
  }
}

/** Modules are evaluated once in a process, so that a sandbox whose jobs cannot be loaded is of no use: the next is a new one. */
function endSandbox(error: unknown, log: Log): never {
  log.error('the contracts or processors of the queue cannot be loaded', { error });
  process.exit(1);
}
