import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigurationError } from '../../functions/lambda/configuration-error.ts';
import { connector } from '../../functions/lambda/connect.ts';
import { Database } from '../../functions/lambda/database.ts';
import { databaseEnv, readEnv, reapEnv, workerEnv } from '../../functions/lambda/env.ts';
import { loggedEvents, snakeCased } from '../../functions/lambda/telemetry.ts';
import { RunFailedError, type RunSummary, run } from '../../functions/queue/run.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { isSchemaMissing } from '../sql-failure.ts';
import { Contact } from './contact.ts';
import { type HealthOptions, openHealth } from './health.ts';
import { loadModules, type ModulePaths } from './modules.ts';
import { runOn } from './runs.ts';
import { Shares } from './shares.ts';
import { stopSignals } from './stop-signals.ts';
import { tickOn } from './ticks.ts';
import { workLog } from './work-log.ts';

export interface WorkOptions extends ModulePaths, HealthOptions {
  readonly queues?: string;
  readonly concurrency?: number;
  readonly transactions?: number;
  readonly drainSeconds: number;
  readonly reap: boolean;
  readonly runSeconds: number;
  readonly tickSeconds: number;
  readonly freshSeconds: number;
}

/** Milliseconds that the end waits for a tick that goes on. */
const TICK_PATIENCE_MS = 1000;
/** Milliseconds for what was written to get out. */
const LINGER_MS = 500;

/** `npx millrace work`: resolves when it was told to stop and has. @throws CliError for a wrong setting, never for the database */
export async function workCommand(options: WorkOptions): Promise<void> {
  const log = workLog();
  const settings = settingsOf(options);
  // Modules may take seconds to be bundled and loaded: told to stop before that, it ends as it does later.
  const stop = stopSignals(options.drainSeconds, (message) => log.info(message));
  const jobs = await Promise.race([loadModules(options), aborted(stop.finish)]);
  if (jobs === undefined) {
    endSoon();
    return stop.over();
  }
  const shares = new Shares();
  const contact = new Contact(options.freshSeconds);
  const metrics = new Database(settings.database, 'metrics');
  const closeHealth = await openHealth(options, { contact, finish: stop.finish }, metrics);
  log.info('worker started', { processors: options.processors, concurrency: settings.concurrency });

  const ticks = options.reap
    ? tickOn({ ...settings, contracts: jobs.contracts, everySeconds: options.tickSeconds, log, stop: stop.finish })
    : undefined;
  const report = (summary: RunSummary) => {
    log.info('run ended', snakeCased(summary));
    return summary;
  };
  try {
    await runOn({
      runSeconds: options.runSeconds,
      longestSeconds: Math.max(...Object.values(jobs.contracts).map(({ timeoutSeconds }) => timeoutSeconds)),
      finish: stop.finish,
      run: async ({ handOver, ...time }) => {
        const share = shares.open();
        const logEvent = loggedEvents(log);
        return run({
          ...jobs,
          ...time,
          middleware: [share.counting, ...jobs.middleware],
          connect: contact.of(settings.connect),
          queues: settings.queues,
          concurrency: settings.concurrency,
          others: share.others,
          transactions: settings.transactions,
          finish: stop.finish,
          signal: stop.drain,
          emit: (event) => {
            logEvent(event);
            if (event.name === 'run.last_claimed' && event.reason === 'relieved') handOver();
          },
          log,
        })
          .then(report)
          .finally(share.end);
      },
      failed: (error) => {
        if (error instanceof RunFailedError) report(error.summary);
        const remedy = isSchemaMissing(error) && { remedy: 'the schema is not there, or old: npx millrace migrate' };
        log.error('a run failed; another one follows', { ...remedy, error });
      },
    });
  } catch (error) {
    throw wrongSetting(error);
  } finally {
    stop.begin();
    // A statement of it may take longer than anybody waits; the server rolls it back.
    await Promise.race([ticks, ticks && sleep(TICK_PATIENCE_MS)]);
    closeHealth();
    await metrics.end();
    stop.over();
    endSoon();
  }
  log.info('worker ended');
}

/** Modules that still load, or a processor that was given up, may go on for as long as they like. */
function endSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref();
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(undefined), { once: true }));
}

/** What the command line says, else the variables that a worker reads on Lambda. */
function settingsOf({ queues, concurrency, transactions }: WorkOptions) {
  try {
    const env = readEnv(workerEnv);
    const database = readEnv(databaseEnv);
    return {
      database,
      connect: connector(database, 'work'),
      retention: readEnv(reapEnv),
      queues: queues?.split(',').map((name) => name.trim()) ?? env.WORKER_QUEUES,
      concurrency: concurrency ?? env.WORKER_CONCURRENCY,
      transactions: transactions ?? env.WORKER_TRANSACTIONS,
    };
  } catch (error) {
    throw wrongSetting(error);
  }
}

function wrongSetting(error: unknown): unknown {
  if (!(error instanceof ConfigurationError || error instanceof RangeError)) return error;
  return new CliError(error.message, EXIT.usage, { cause: error });
}
