import { type Profile, WHOLE_CPU_MEBIBYTES } from '../profile.ts';
import type { Ground } from './ground.ts';
import { measure, type RealLoad } from './measure.ts';

export type Costs = Partial<Profile>;

/** Enough that one slow commit does not matter. */
const JOBS = 1500;

/** What this machine takes for what the others are made of: statements by what they bring, and the worker's own work for a job. */
export async function calibrate(ground: Ground): Promise<Costs> {
  const burst: RealLoad = {
    arrivals: Array(JOBS).fill(0.5),
    jobMs: 5,
    concurrency: 10,
    starts: [{ at: 0, slot: 0, woken: false }],
    lingerSeconds: Infinity,
    seconds: 6,
  };
  // The first time, everything is loaded and planned.
  await measure(ground, burst);
  const { watched, cpuSeconds } = await measure(ground, burst);
  const claim = line(watched.of('claim'));
  const settle = line(watched.of('settle'));
  const statements = watched.timed.length;
  return {
    memory: WHOLE_CPU_MEBIBYTES,
    'round-trip-ms': 0,
    'start-cpu-ms': 20,
    'claim-ms': claim.base,
    'claimed-ms': claim.each,
    'settle-ms': settle.base,
    'settled-ms': settle.each,
    'other-ms': mean(watched.of('look', 'take', 'presence', 'marks', 'watch').map(({ ms }) => ms)),
    // What is not in the time of statements: half of it is taken to be theirs.
    'statement-cpu-ms': (500 * cpuSeconds) / statements,
    'job-cpu-ms': (500 * cpuSeconds) / JOBS,
    'database-cores': 16,
  };
}

/** What a statement takes without rows, and for each: the line with the least squares. */
function line(all: readonly { readonly rows: number; readonly ms: number }[]): { base: number; each: number } {
  // Without the slowest: a checkpoint, a garbage collection.
  const timed = all.toSorted((one, other) => one.ms - other.ms).slice(0, Math.ceil(all.length * 0.97));
  const rows = mean(timed.map((one) => one.rows));
  const ms = mean(timed.map((one) => one.ms));
  const spread = timed.reduce((sum, one) => sum + (one.rows - rows) ** 2, 0);
  const each = spread === 0 ? 0 : timed.reduce((sum, one) => sum + (one.rows - rows) * (one.ms - ms), 0) / spread;
  return { base: Math.max(0.1, ms - Math.max(0, each) * rows), each: Math.max(0, each) };
}

function mean(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}
