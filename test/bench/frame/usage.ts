import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';

/** What a database server has used until now. Subtract two of them: `since`. */
export interface Usage {
  readonly cpuSeconds: number;
  readonly walBytes: number;
  readonly commits: number;
}

/** Ticks of /proc a second: USER_HZ, which Linux shows to programs as 100 on all machines. */
const TICKS = 100;

/** `client`: connected to the database whose commits count; `pid`: of the postmaster. */
export async function usage(client: pg.Client, pid: number): Promise<Usage> {
  const { rows } = await client.query<{ wal: string; commits: string }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS wal, xact_commit AS commits
     FROM pg_stat_database
     WHERE datname = current_database()`,
  );
  const [row] = rows;
  return { cpuSeconds: await cpuSeconds(pid), walBytes: Number(row?.wal), commits: Number(row?.commits) };
}

export function since(before: Usage, after: Usage): Usage {
  return {
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    walBytes: after.walBytes - before.walBytes,
    commits: after.commits - before.commits,
  };
}

/** Of the postmaster and all that it has started, those that have ended too: backends, autovacuum, the writers. */
async function cpuSeconds(postmaster: number): Promise<number> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map((pid) => ticks(pid)));
  const own = all.find((one) => one?.pid === postmaster);
  const children = all.filter((one) => one?.parent === postmaster);
  if (!own) return Number.NaN;
  return (own.self + own.ended + children.reduce((sum, child) => sum + (child?.self ?? 0), 0)) / TICKS;
}

/** See proc_pid_stat(5): parent, utime, stime, cutime and cstime are the fields 4 and 14 to 17; the second may hold spaces. */
async function ticks(pid: string) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields.length < 15) return undefined;
  const [user, system, endedUser, endedSystem] = fields.slice(11, 15).map(Number) as [number, number, number, number];
  return { pid: Number(pid), parent: Number(fields[1]), self: user + system, ended: endedUser + endedSystem };
}
