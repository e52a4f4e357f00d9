import { fileURLToPath } from 'node:url';
import { now } from '../frame/now.ts';
import { type Command, Member } from './member.ts';
import type { Given } from './protocol.ts';
import type { Workers } from './system.ts';

/** A worker process of this module, with nothing set of Node: the same for every system. */
export function node(module: URL): Command {
  return { file: process.execPath, args: [...profiling(), fileURLToPath(module)] };
}

/** `BENCH_PROFILE`: a folder for the CPU profiles of the worker processes. */
function profiling(): string[] {
  const folder = process.env.BENCH_PROFILE;
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
}

/** Starts so many worker processes, and resolves when all are connected. */
export async function startFleet(command: Command, processes: number, given: Given): Promise<Workers> {
  const members = Array.from({ length: processes }, () => new Member(command, given));
  let stopping = false;
  // One that fails takes the others with it: the measurement is over, and nobody is going to stop them.
  const kill = () => {
    for (const member of stopping ? [] : members) member.kill();
  };
  for (const { ended } of members) ended.then(kill);
  await Promise.all(members.map((member) => member.ready));
  return {
    go: () => {
      for (const member of members) member.say('go');
      return now();
    },
    done: (jobs) =>
      done(members, jobs).catch((error: unknown) => {
        kill();
        throw error;
      }),
    startedAt: async () => new Map((await Promise.all(members.map((member) => member.starts()))).flat()),
    stop: () => {
      stopping = true;
      return Promise.all(members.map((member) => member.stop()));
    },
  };
}

/** Without a job that ends for so long, something is wrong. */
const PATIENCE_MS = 60_000;

/** Resolves when they have settled so many between them: when the last was. */
async function done(members: readonly Member[], jobs: number): Promise<number> {
  const settled = () => members.reduce((sum, member) => sum + member.settled, 0);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const look = () => {
        clearTimeout(timer);
        if (settled() >= jobs) resolve(Math.max(...members.map(({ at }) => at)));
        else timer = setTimeout(() => reject(new Error(`no job ends any more: ${settled()} of ${jobs}`)), PATIENCE_MS);
      };
      for (const member of members) {
        member.onSettled = look;
        member.ended.then(reject);
      }
      look();
    });
  } finally {
    clearTimeout(timer);
  }
}
