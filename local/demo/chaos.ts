import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../functions/queue/db.ts';

export interface ChaosOptions {
  readonly kills: number;
  readonly random: () => number;
  /** Pids of the workers that run now. */
  readonly workers: () => Promise<readonly number[]>;
  readonly onKill: (pid: number, jobsAtWork: number) => void;
  /** Ends the chaos early. */
  readonly signal: AbortSignal;
}

/**
 * Kills worker processes with SIGKILL at random moments while they have jobs at work. Resolves how many it killed:
 * fewer than asked for when the work ended before.
 */
export async function wreakHavoc(db: Db, { kills, random, workers, onKill, signal }: ChaosOptions): Promise<number> {
  const dead = new Set<number>();
  // Rows of a killed worker stay claimed until their lease runs out: by their token they are known as its last.
  const lost = new Set<string>();
  while (dead.size < kills && !signal.aborted) {
    await sleep(100 + random() * 1200, undefined, { signal }).catch(() => {});
    if (signal.aborted) break;
    const claims = (await claimsAtWork(db)).filter(({ token }) => !lost.has(token));
    const alive = (await workers()).filter((pid) => !dead.has(pid));
    const pid = alive[Math.floor(random() * alive.length)];
    if (pid === undefined || claims.length === 0 || signal.aborted) continue;
    process.kill(pid, 'SIGKILL');
    dead.add(pid);
    for (const { token } of claims) lost.add(token);
    onKill(
      pid,
      claims.reduce((sum, { jobs }) => sum + jobs, 0),
    );
  }
  return dead.size;
}

async function claimsAtWork(db: Db): Promise<{ token: string; jobs: number }[]> {
  const { rows } = await db.query<{ token: string; jobs: number }>(
    `SELECT locked_by AS token, count(*)::int AS jobs
     FROM millrace.live_jobs
     WHERE kind = 'github.webhook' AND status = 'processing'
     GROUP BY locked_by`,
  );
  return rows;
}
