import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Bench, Result, Row } from '../frame/row.ts';

/** What can also be run by itself, `node test/bench/<script>.ts`, and says its figures in sentences. */
export const rows: readonly Row[] = [
  row('claim', 'claim', 'What a claim costs the database with 100,000 jobs waiting and 1,000,000 finished.'),
  row(
    'worker',
    'worker',
    'How fast one worker process drains jobs as the stack starts it, and how much memory it takes.',
  ),
  row('http', 'latency', 'From the answer to a POST to the start of the job, in an idle runtime on this machine.'),
  row('load', 'load', 'How long the bundle of each API function takes to load, which a cold start waits for.'),
];

function row(name: string, script: string, what: string): Row {
  return { name, what, run: (bench) => run(bench, script) };
}

async function run({ quick, server }: Bench, script: string): Promise<Result> {
  const file = fileURLToPath(new URL(`../${script}.ts`, import.meta.url));
  const database = await server.database();
  // They remove the database that they make, which writes out all that the rows before have left in memory: more work than theirs.
  const ownServer = quick && script !== 'latency';
  const { DATABASE_URL: _, ...env } = process.env;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [file, ...(quick ? ['--quick'] : [])], {
      env: ownServer ? env : { ...env, DATABASE_URL: database.url },
    });
    const said = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    return { columns: [`node test/bench/${script}.ts`], lines: said.map((line) => [line]) };
  } finally {
    await database.drop();
  }
}
