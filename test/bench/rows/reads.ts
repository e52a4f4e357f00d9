import { migrationsDirectory } from '../../../functions/migrate/directory.ts';
import { migrate } from '../../../functions/migrate/runner.ts';
import { list } from '../../../functions/queue/list.ts';
import { stats } from '../../../functions/queue/stats.ts';
import { openClient } from '../../support/database.ts';
import type { Bench, Result, Row } from '../frame/row.ts';
import { spreadOf } from '../frame/spread.ts';
import { explained } from '../reads/explained.ts';
import { groupsOf } from '../reads/groups.ts';
import { type History, load, putInOneByOne } from '../reads/history.ts';
import { COLUMNS, cellsOf, goalsOf, measure } from '../reads/measure.ts';

const HISTORY: History = { finished: 10_000_000, dead: 100_000, pending: 1_000_000, processing: 1000 };
const QUICK: History = { finished: 20_000, dead: 2000, pending: 5000, processing: 100 };

const WHAT =
  'What the reads of the API cost the database, over ten million finished jobs of the last week, a backlog of a million, 1,000 that run and 100,000 dead ones: of 50 kinds, and of one more of which there are three of each. Times are planning and execution by EXPLAIN (ANALYZE, TIMING OFF) on a connection that has read before.';

const NOTES = [
  'Combinations: a status or any, a kind with a fiftieth of all jobs, the kind with three or any, a subject with a third of all, one with a fiftieth, one with ten or any, an hour three days ago, the last six minutes, the first half day or any time. Pages of 50. The last page is the one after which there is none; where a filter fits 50 jobs or fewer, it counts among the first pages only.',
  'Everything was vacuumed and analyzed after it was loaded, and lies in the memory of Postgres or of the system.',
];

export const rows: readonly Row[] = [{ name: 'reads', what: WHAT, run }];

async function run(bench: Bench): Promise<Result> {
  const { server, quick, say } = bench;
  const history = quick ? QUICK : HISTORY;
  const database = await server.database();
  const client = await openClient(database.url);
  try {
    await migrate(client, { directory: migrationsDirectory() });
    say(`lays ${history.finished.toLocaleString('en')} finished jobs`);
    await load(client, history);
    say('looks for the middle and the last pages');
    const lines = await measure(bench, client, await groupsOf(client, quick));
    const oneByOne = quick ? 1000 : 120_000;
    await putInOneByOne(client, oneByOne);
    const after = {
      name: `/metrics, ${oneByOne.toLocaleString('en')} jobs were put in one by one since the last tick`,
      variants: [{ what: '', read: stats }],
    };
    const [last] = await measure(bench, client, [after]);
    const notes = [...NOTES, await coldNote(database.url, quick ? 2 : 20)];
    return { columns: COLUMNS, lines: [...lines, ...(last ? [last] : [])].map(cellsOf), goals: goalsOf(lines), notes };
  } finally {
    await client.end();
    await database.drop();
  }
}

/** A connection makes its plans once, over all partitions. */
async function coldNote(databaseUrl: string, connections: number): Promise<string> {
  const times: number[] = [];
  for (let n = 0; n < connections; n++) {
    const client = await openClient(databaseUrl);
    times.push((await explained(client, (db) => list(db, { limit: 50 })).finally(() => client.end())).ms);
  }
  const { median, most } = spreadOf(times);
  return `The first page that a new connection reads takes ${median.toFixed(1)} ms (${most.toFixed(1)} at most, of ${connections}): plans are made, once for each connection.`;
}
