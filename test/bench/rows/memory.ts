import { setTimeout as sleep } from 'node:timers/promises';
import { drained } from '../frame/drained.ts';
import { interleave } from '../frame/interleave.ts';
import { installed, loaded } from '../frame/loaded.ts';
import type { Bench, Result, Row } from '../frame/row.ts';
import type { Server } from '../frame/server.ts';
import { systemsNamed } from '../systems/index.ts';
import type { System } from '../systems/system.ts';

const SYSTEMS = ['Millrace', 'Millrace, defaults', 'graphile-worker, best', 'pg-boss, best', 'River, best'];

export const rows: readonly Row[] = [
  {
    name: 'memory',
    what: 'Resident memory of a worker process at its highest: with nothing to do, after jobs that do nothing, and after as many that wait for 20 ms, 200 at once.',
    run,
  },
];

async function run(bench: Bench): Promise<Result> {
  const { server, quick } = bench;
  const jobs = quick ? 400 : 20_000;
  const subjects = await systemsNamed(...(quick ? SYSTEMS.slice(0, 1) : SYSTEMS));
  const measured = await interleave(bench, subjects, async (system) => {
    const template = (await loaded(server, system, jobs)).name;
    const most = { system, jobs, processes: 1, template };
    const idle = await idleMegabytes(server, system, quick ? 100 : 3000);
    const busy = await drained(server, { ...most, work: { kind: 'nothing' } });
    const atOnce = { ...most, system: system.atOnce(200), work: { kind: 'wait', ms: 20 } as const };
    // With --quick the same again would show nothing more.
    const many = quick ? busy : await drained(server, atOnce);
    return { idle, busy: busy.rssMegabytes, many: many.rssMegabytes };
  });
  return {
    columns: ['system', 'idle, MB', 'no-op jobs, MB', '200 at once, MB'],
    lines: [...measured].map(([{ name }, { idle, busy, many }]) => [name, idle, busy, many]),
    notes: ["River's worker is a Go program, the others are Node.", `${jobs} jobs each.`],
  };
}

async function idleMegabytes(server: Server, system: System, ms: number): Promise<number> {
  const database = await server.database((await installed(server, system)).name);
  try {
    const workers = await system.workers(database.url, 1, { kind: 'nothing' });
    workers.go();
    await sleep(ms);
    const used = await workers.stop();
    return Math.max(...used.map(({ rssBytes }) => rssBytes)) / 1e6;
  } finally {
    await database.drop();
  }
}
