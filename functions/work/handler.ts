import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { contracts } from '#contracts';
import { processors } from '#processors';
import { connector } from '../lambda/connect.ts';
import { databaseEnv, readEnv, workerEnv } from '../lambda/env.ts';
import { createLog } from '../lambda/log.ts';
import { once } from '../lambda/once.ts';
import { shutdown } from '../lambda/shutdown.ts';
import { loggedEvents, putMetrics, snakeCased } from '../lambda/telemetry.ts';
import { RunFailedError, type RunSummary, run } from '../queue/run.ts';

const connect = once(() => connector(readEnv(databaseEnv), 'work'));

/** `slot`: which of the fleet's places this run holds. */
const tick = z.object({ slot: z.int().min(0) });

/**
 * One tick of a worker: works until its time is up. Slot 0 lingers, so that somebody always waits for jobs; the others
 * leave when nothing is due. Resolves the summary; throws for the database, never for a job.
 */
export async function handler(event: unknown, context: Context): Promise<RunSummary> {
  const { slot } = tick.parse(event);
  const env = readEnv(workerEnv);
  // `request_id` is that of a job's own request.
  const log = createLog({ function: 'work', aws_request_id: context.awsRequestId, slot });
  const report = (summary: RunSummary) => {
    log.info('run ended', snakeCased(summary));
    putMetrics(context.functionName, {
      JobsCompleted: [summary.completed, 'Count'],
      JobsRetried: [summary.retried, 'Count'],
      JobsBuried: [summary.buried, 'Count'],
      JobsOvertaken: [summary.overtaken, 'Count'],
      JobsUnsettled: [summary.unsettled, 'Count'],
    });
    return summary;
  };
  try {
    const summary = await run({
      contracts,
      processors,
      connect: connect(),
      concurrency: env.WORKER_CONCURRENCY,
      transactions: env.WORKER_TRANSACTIONS,
      remainingMs: () => context.getRemainingTimeInMillis(),
      lingerSeconds: slot === 0 ? env.WORKER_LINGER_SECONDS : 0,
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
