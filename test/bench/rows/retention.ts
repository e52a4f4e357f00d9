import { setTimeout as sleep } from 'node:timers/promises';
import { migrationsDirectory } from '../../../functions/migrate/directory.ts';
import { migrate } from '../../../functions/migrate/runner.ts';
import { openClient } from '../../support/database.ts';
import { interleave } from '../frame/interleave.ts';
import { now } from '../frame/now.ts';
import type { Bench, Result, Row } from '../frame/row.ts';
import { startFlow } from '../retention/flow.ts';
import { layOldDays, OLD_DAYS, whatRemains } from '../retention/old-days.ts';
import { type Way, ways } from '../retention/ways.ts';

const WHAT =
  'A million finished jobs of seven days, with their payloads, come of age while 2,000 jobs a second are put in, by 100, and run in one process. In each of the days lie one dead job and one that is due in a year: both stay, with their payloads. Enqueue is the call for a batch; start is from that call to the start of a job; before is the time before the days go, meanwhile until they are gone.';

export const rows: readonly Row[] = [{ name: 'retention', what: WHAT, run }];

const COLUMNS = [
  'the old days go',
  's',
  'WAL, MB',
  'tries in vain',
  'enqueue p99, ms: before',
  'meanwhile',
  'longest',
  'start p99, ms: before',
  'meanwhile',
  'longest',
];

async function run(bench: Bench): Promise<Result> {
  const { server, quick, say } = bench;
  const finished = quick ? 20_000 : 1_000_000;
  const template = await server.database();
  try {
    const client = await openClient(template.url);
    say(`lays ${finished.toLocaleString('en')} finished jobs`);
    await migrate(client, { directory: migrationsDirectory() })
      .then(() => layOldDays(client, finished))
      .finally(() => client.end());
    const measured = await interleave(bench, quick ? ways.slice(0, 1) : ways, (way) =>
      measure(bench, template.name, way),
    );
    const lines = [...measured].map(([{ name }, of]) => [
      name,
      of.seconds,
      of.walMegabytes,
      of.inVain,
      of.enqueueBefore,
      of.enqueueMeanwhile,
      of.enqueueLongest,
      of.startBefore,
      of.startMeanwhile,
      of.startLongest,
    ]);
    return { columns: COLUMNS, lines, notes: NOTES };
  } finally {
    await template.drop();
  }
}

const NOTES = [
  'WAL is that of the connection that lets the days go. DELETE also leaves its rows and their entries in all indexes to vacuum.',
];

/** Postgres 18 and later have it, as the throwaway one is. */
const WAL = 'SELECT wal_bytes::float8 AS bytes FROM pg_stat_get_backend_wal(pg_backend_pid())';

async function measure({ server, quick }: Bench, template: string, way: Way) {
  const database = await server.database(template);
  const client = await openClient(database.url);
  try {
    const flow = await startFlow(database.url);
    const wal = async () => {
      await client.query('SELECT pg_stat_force_next_flush()');
      return (await client.query<{ bytes: number }>(WAL)).rows[0]?.bytes ?? Number.NaN;
    };
    let [begun, ended, walBytes, inVain] = [0, 0, 0, 0];
    const before = now() + (quick ? 200 : 2000);
    try {
      await sleep(quick ? 700 : 7000);
      const walBefore = await wal();
      begun = now();
      inVain = await way.go(client);
      ended = now();
      walBytes = (await wal()) - walBefore;
    } finally {
      await flow.stop();
    }
    const remains = await whatRemains(client);
    if (remains['old.dead'] !== OLD_DAYS || remains['old.future'] !== OLD_DAYS || remains['old.job'] !== undefined) {
      throw new Error(`of the old days ${JSON.stringify(remains)} remain`);
    }
    const [quiet, busy] = [flow.felt(before, begun), flow.felt(begun, ended)];
    return {
      seconds: (ended - begun) / 1000,
      walMegabytes: walBytes / 1e6,
      inVain,
      enqueueBefore: quiet.enqueueP99,
      enqueueMeanwhile: busy.enqueueP99,
      enqueueLongest: busy.enqueueLongest,
      startBefore: quiet.startP99,
      startMeanwhile: busy.startP99,
      startLongest: busy.startLongest,
    };
  } finally {
    await client.end();
    await database.drop();
  }
}
