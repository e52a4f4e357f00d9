import type pg from 'pg';
import { takeBack } from '../../../functions/reap/take-back.ts';
import { openClient } from '../../support/database.ts';
import { interleave } from '../frame/interleave.ts';
import { installed } from '../frame/loaded.ts';
import type { Bench, Result, Row } from '../frame/row.ts';
import { since, usage } from '../frame/usage.ts';
import { pinHorizon } from '../soak/pin.ts';
import { KIND, millrace } from '../systems/millrace.ts';

const LEASES = 100_000;
/** Rows that may be locked at once. */
const MOST_LOCKED = 1000;

interface Subject {
  readonly name: string;
  readonly attempts: number;
  readonly pinned?: boolean;
}

const SUBJECTS: readonly Subject[] = [
  { name: 'they go back', attempts: 1 },
  { name: 'they go back, horizon pinned', attempts: 1, pinned: true },
  { name: 'they die', attempts: 5 },
];

export const rows: readonly Row[] = [
  {
    name: 'reaper',
    what: 'One tick of the reaper over 100,000 jobs whose lease has run out, with its log going nowhere: from its first statement to the last commit.',
    run,
  },
];

async function run(bench: Bench): Promise<Result> {
  const leases = bench.quick ? 1200 : LEASES;
  const measured = await interleave(bench, SUBJECTS, (subject) => reaped(bench, subject, leases));
  const figures = new Map([...measured].map(([{ name }, of]) => [name, of]));
  const plain = figures.get('they go back');
  return {
    columns: [`${leases} leases`, 'leases/s', 'most rows locked at once', 'WAL, bytes/lease', 'database CPU, s/1,000'],
    lines: [...measured].map(([{ name }, of]) => [
      name,
      of.leasesPerSecond,
      of.mostLocked,
      of.walBytes,
      of.cpuPerThousand,
    ]),
    goals: [
      { of: 'leases that ran out', value: plain?.leasesPerSecond.median ?? 0, atLeast: 20_000, unit: 'leases/s' },
      {
        of: 'rows locked at once',
        value: Math.max(...[...measured.values()].map(({ mostLocked }) => mostLocked.most)),
        atMost: MOST_LOCKED,
        unit: 'rows',
      },
    ],
    notes: [
      'Each statement is a transaction, so the rows that it answers are those that it locks.',
      'Horizon pinned: another transaction keeps what has been reaped from being cleared away.',
      'They die: it was their last attempt, so each is moved to the dead with its payload.',
    ],
  };
}

async function reaped({ server }: Bench, { attempts, pinned }: Subject, leases: number) {
  const database = await server.database((await installed(server, millrace)).name);
  const client = await openClient(database.url);
  let release = async () => {};
  try {
    await load(client, leases, attempts);
    await server.checkpoint();
    if (pinned) release = await pinHorizon(database.url);
    let mostLocked = 0;
    const before = await usage(client, server.pid);
    const begun = performance.now();
    const done = { reaped: 0, buried: 0, blocked: 0 };
    await takeBack(
      {
        db: {
          query: async (text, values) => {
            const result = await client.query(text, values);
            mostLocked = Math.max(mostLocked, result.rows.length);
            return result;
          },
        },
        log: { debug() {}, info() {}, warn() {}, error() {} },
        contracts: async () => ({}),
        timeLeft: () => true,
      },
      done,
    );
    const seconds = (performance.now() - begun) / 1000;
    if (done.reaped !== leases) throw new Error(`${done.reaped} of ${leases} leases were taken back`);
    const { walBytes, cpuSeconds } = since(before, await usage(client, server.pid));
    return {
      leasesPerSecond: leases / seconds,
      mostLocked,
      walBytes: walBytes / leases,
      cpuPerThousand: (cpuSeconds * 1000) / leases,
    };
  } finally {
    await Promise.all([client.end(), release()]);
    await database.drop();
  }
}

/** Running since before their lease ran out, a tenth of a millisecond apart, none of a worker that still lives. */
async function load(client: pg.Client, leases: number, attempts: number): Promise<void> {
  await client.query(
    `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, $1::int) n),
          payload AS (INSERT INTO millrace.payloads SELECT id, jsonb_build_object('n', n) FROM job)
     INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until, started_at, payload_bytes)
     SELECT id, $2, 'processing', $3, gen_random_uuid(), clock_timestamp() - interval '1 minute' + n * interval '0.1 ms',
            clock_timestamp() - interval '2 minutes', 8
     FROM job`,
    [leases, KIND, attempts],
  );
  await client.query('VACUUM (ANALYZE) millrace.live_jobs');
}
