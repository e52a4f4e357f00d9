import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startOf } from '../process-identity.ts';

/**
 * Called before a start, by who holds the directory. A server that still runs on the data belonged to a process that was
 * killed: it is shut down. What a killed server left behind (its pid file, backends that have not noticed yet) is removed.
 */
export async function clearLeftovers(data: string): Promise<void> {
  const pidFile = join(data, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  if (pid > 0 && (await serverPids(data, pid)).includes(pid)) {
    await end(pid, 'SIGINT', 15_000);
    await end(pid, 'SIGQUIT', 5_000);
  }
  // Without their postmaster, backends end by themselves as soon as they look up from what they compute.
  for (let waited = 0; waited < 2000 && (await serverPids(data)).length > 0; waited += 50) await sleep(50);
  for (const left of await serverPids(data)) await end(left, 'SIGKILL', 2_000);
  // Postgres would take any living process with that number for the server; in a container the same come again.
  await rm(pidFile, { force: true });
}

/** The postmaster on the data and its children; where there is no /proc, only whether `candidate` is that postmaster. */
async function serverPids(data: string, candidate?: number): Promise<number[]> {
  const real = await realpath(data).catch(() => undefined);
  if (real === undefined) return [];
  if (process.platform !== 'linux') {
    const command = candidate === undefined ? '' : await commandOf(candidate);
    return candidate !== undefined && command.includes('postgres') && command.includes(real) ? [candidate] : [];
  }
  const all = candidate === undefined ? (await readdir('/proc')).map(Number).filter((pid) => pid > 0) : [candidate];
  const ours = await Promise.all(all.map((pid) => isServer(pid, real)));
  return all.filter((_, index) => ours[index]);
}

/** By name and place: somebody's shell in the data directory is not a server. */
async function isServer(pid: number, data: string): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  if (cwd !== data) return false;
  return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'postgres';
}

async function commandOf(pid: number): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return stdout;
}

async function end(pid: number, signal: NodeJS.Signals, patienceMs: number): Promise<void> {
  try {
    process.kill(pid, signal);
  } catch {
    return;
  }
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline && (await startOf(pid)) !== undefined) await sleep(20);
}
