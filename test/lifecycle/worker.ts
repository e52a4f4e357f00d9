/* A worker as a process of its own, for tests that kill it. Speaks over IPC; SIGTERM drains it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contracts } from '../../functions/queue/contract.ts';
import type { QueueEvent } from '../../functions/queue/events.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import type { RunOptions } from '../../functions/queue/run-options.ts';
import { schedule } from '../../functions/queue/schedule.ts';
import { deedJobs } from './deeds.ts';
import { runOn, silent } from './ground.ts';

export interface WorkerOptions {
  readonly databaseUrl: string;
  readonly concurrency?: number;
  readonly lingerSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly leaseMarginSeconds?: number;
  /** Seconds after which it would be killed, known to it as Lambda says it: as a time of its clock. Default: none. */
  readonly deadlineSeconds?: number;
  /** The period of a schedule that it fires. Default: none. */
  readonly beat?: string;
  readonly slot?: RunOptions<Contracts>['slot'];
}

export type WorkerMessage =
  | QueueEvent
  | { readonly name: 'log'; readonly message: string }
  | { readonly name: 'ended'; readonly summary: RunSummary };

if (process.send) {
  const options = JSON.parse(process.argv[2] ?? '{}') as WorkerOptions;
  const shutdown = new AbortController();
  process.once('SIGTERM', () => shutdown.abort());
  const tell = (message: WorkerMessage) => process.send?.(message);
  const deadline = Date.now() + (options.deadlineSeconds ?? Infinity) * 1_000;
  const summary = await runOn(options.databaseUrl, {
    ...deedJobs(options),
    concurrency: options.concurrency ?? 10,
    lingerSeconds: options.lingerSeconds ?? 0,
    leaseMarginSeconds: options.leaseMarginSeconds,
    slot: options.slot,
    schedules: options.beat === undefined ? [] : [beating(options.beat)],
    remainingMs: () => deadline - Date.now(),
    signal: shutdown.signal,
    emit: (event) => {
      if (event.name !== 'claim.made') tell(event);
    },
    log: { ...silent, error: (message) => tell({ name: 'log', message }) },
  });
  await sleep(50);
  tell({ name: 'ended', summary });
  process.disconnect();
}

function beating(every: string) {
  return schedule({ name: 'beat', every, kind: 'deed', payload: { do: 'finish' }, catchUp: 'all', overlap: 'allow' });
}
