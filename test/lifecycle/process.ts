import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import type { RunSummary } from '../../functions/queue/run.ts';
import type { DeedName } from './deeds.ts';
import { until } from './ground.ts';
import type { WorkerMessage, WorkerOptions } from './worker.ts';

const SCRIPT = fileURLToPath(new URL('./worker.ts', import.meta.url));

export interface WorkerProcess {
  readonly child: ChildProcess;
  readonly messages: WorkerMessage[];
  /** Waits until it has said so `times` often; false if it ended before. */
  said(name: WorkerMessage['name'], times?: number): Promise<boolean>;
  /** How it ended; `summary` only if by itself. */
  readonly ended: Promise<{
    code: number | null;
    signal: string | null;
    summary: RunSummary | undefined;
    stderr: string;
  }>;
}

/** `process`: how the process itself is started. Default as this one was. */
export function startWorker(
  options: WorkerOptions,
  process: Pick<ForkOptions, 'env' | 'execArgv'> = {},
): WorkerProcess {
  const child = fork(SCRIPT, [JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], ...process });
  const messages: WorkerMessage[] = [];
  let summary: RunSummary | undefined;
  let stderr = '';
  child.stderr?.on('data', (data) => {
    stderr += data;
  });
  child.on('message', (message: WorkerMessage) => {
    messages.push(message);
    if (message.name === 'ended') summary = message.summary;
  });
  const ended: WorkerProcess['ended'] = new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, summary, stderr }));
  });
  return {
    child,
    messages,
    said: async (name, times = 1) => {
      const enough = () => messages.filter((message) => message.name === name).length >= times;
      await until(() => enough() || child.exitCode !== null || child.signalCode !== null);
      return enough();
    },
    ended,
  };
}

export interface Deed {
  readonly do: DeedName;
  readonly ms?: number;
}

/** Puts a job in that will do so. */
export async function deed(db: pg.Pool, payload: Deed, { maxAttempts = 5, delaySeconds = 0 } = {}): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT millrace.enqueue('deed', $1, max_attempts => $2, run_at => clock_timestamp() + make_interval(secs => $3)) AS id`,
    [payload, maxAttempts, delaySeconds],
  );
  return (rows[0] as { id: string }).id;
}

/** As if so much time had passed that every lease has run out, the reaper came, and every delay is over. */
export async function timePasses(db: pg.Pool, reap: () => Promise<unknown>): Promise<void> {
  await db.query(
    `UPDATE millrace.live_jobs SET locked_until = clock_timestamp() - interval '1 second' WHERE status = 'processing'`,
  );
  await reap();
  await db.query(`UPDATE millrace.live_jobs SET run_at = clock_timestamp() WHERE status = 'pending'`);
}
