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
import { RunFailedError, type RunSummary, run } from '../queue/run.ts';
import { loadJobs } from './jobs.ts';

const connect = once(() => connector(readEnv(databaseEnv), 'work'));

// A sandbox starts with a whole CPU and before its timeout counts, so what is heavy is loaded then. Processors with secrets
// have to wait for these. Why they could not be loaded is said by the run, which tries it again.
if (!process.env.WORKER_SECRETS) await loadJobs().catch(() => {});

/** `slot`: which of the fleet's places this run holds. */
const tick = z.object({ slot: z.int().min(0) });

/** Seconds between two ticks of a slot. A run that lingers as long is followed by another. */
const TICK_SECONDS = 60;

/**
 * One tick of a worker: works until its time is up. Slot 0 lingers, so that somebody always waits for jobs; the others
 * leave when nothing is due. Resolves the summary; throws for the database, a secret or a setting, never for a job.
 */
export async function handler(event: unknown, context: Context): Promise<RunSummary> {
  // Before anything can go wrong: an alarm waits for it to fail to come.
  putMetrics(context, { TicksStarted: [1, 'Count'] });
  const { slot } = tick.parse(event);
  const env = readEnv(workerEnv);
  // `request_id` is that of a job's own request.
  const log = createLog({ function: 'work', aws_request_id: context.awsRequestId, slot });
  await putSecretsIntoEnv(env.WORKER_SECRETS ?? {}, log);
  const { contracts, processors, middleware } = await loadJobs().catch((error) => endSandbox(error, log));
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
      connect: connect(),
      queues: env.WORKER_QUEUES,
      concurrency: env.WORKER_CONCURRENCY,
      transactions: env.WORKER_TRANSACTIONS,
      remainingMs: () => context.getRemainingTimeInMillis(),
      lingerSeconds: slot === 0 ? env.WORKER_LINGER_SECONDS : 0,
      handsOver: slot === 0 && env.WORKER_LINGER_SECONDS >= TICK_SECONDS,
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
