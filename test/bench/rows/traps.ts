import { openClient } from '../../support/database.ts';
import { interleave, type Measured } from '../frame/interleave.ts';
import type { Bench, Cell, Goal, Result, Row, Spread } from '../frame/row.ts';
import type { BenchDatabase } from '../frame/server.ts';
import { type Figures, measured } from '../traps/measure.ts';
import { lay, nothing, prepare } from '../traps/stage.ts';
import { type Trap, traps } from '../traps/traps.ts';
import { TrapWorker } from '../traps/worker.ts';

const WHAT =
  'A claim of ten jobs while something lies around them, and their completion, beside the same in an empty queue, in turns. Times are p50 of the statement as the client sees it, without the commit; pages are the mean of what was looked at of tables and indexes, in memory or not. One claim in ten takes ten of the oldest whatever their priority, which the means include. The first look is that of a worker that knows nothing yet, and comes again every half minute for one worker of all.';

/** The largest a claim may be, against the empty queue. */
const AT_MOST = 1.3;

export const rows: readonly Row[] = [
  { name: 'traps', what: WHAT, run: (bench) => run(bench, traps) },
  ...traps.map((trap) => ({
    name: `trap-${trap.name}`,
    what: WHAT,
    part: true,
    run: (bench: Bench) => run(bench, [trap]),
  })),
];

const COLUMNS = [
  'around it lie',
  'claim, ms',
  '× empty',
  'mean, ms',
  '× empty',
  'claim, pages',
  '× empty',
  'settle, ms',
  '× empty',
  'settle, pages',
  '× empty',
  'first look, ms',
  'first look, pages',
];

interface Subject {
  readonly name: string;
  readonly what: string;
  readonly firstLook: Figures;
  measure(): Promise<Measured<keyof Figures>>;
  close(): Promise<void>;
}

type Found = Record<keyof Figures, Spread>;

async function run(bench: Bench, chosen: readonly Trap[]): Promise<Result> {
  const lines: Cell[][] = [];
  const goals: Goal[] = [];
  const template = await bench.server.database();
  await prepare(template.url);
  const empty = await subjectOf(bench, template, nothing);
  try {
    for (const trap of chosen) {
      const subject = await subjectOf(bench, template, trap);
      try {
        const found = await interleave(bench, [empty, subject], ({ measure }) => measure());
        const [reference, trapped] = [found.get(empty) as Found, found.get(subject) as Found];
        if (lines.length === 0) lines.push(lineOf(empty, reference, reference));
        lines.push(lineOf(subject, trapped, reference));
        goals.push(goalOf(`${trap.name}, claim p50`, trapped.claimMs, reference.claimMs));
        goals.push(goalOf(`${trap.name}, pages of a claim`, trapped.claimPages, reference.claimPages));
      } finally {
        await subject.close();
      }
    }
  } finally {
    await empty.close();
    await template.drop();
  }
  return { columns: COLUMNS, lines, goals };
}

async function subjectOf({ server, quick, say }: Bench, template: BenchDatabase, trap: Trap): Promise<Subject> {
  const rows = quick ? (trap.quickRows ?? trap.rows / 50) : trap.rows;
  const what = trap.what(rows.toLocaleString('en'));
  say(`lays ${what}`);
  const database = await server.database(template.name);
  const letGo = await lay(database.url, trap, rows);
  const client = await openClient(database.url);
  if (trap.planMode) await client.query(`SET plan_cache_mode = ${trap.planMode}`);
  const worker = new TrapWorker();
  return {
    name: trap.name,
    what,
    firstLook: await measured(client, worker, 1),
    measure: async () => ({ ...(await measured(client, worker, quick ? 5 : 200)) }),
    close: async () => {
      await client.end();
      await letGo();
      await database.drop();
    },
  };
}

function lineOf({ what, firstLook }: Subject, trapped: Found, reference: Found): Cell[] {
  const figures = ['claimMs', 'claimMeanMs', 'claimPages', 'settleMs', 'settlePages'] as const;
  const compared = figures.flatMap((figure) => [trapped[figure], trapped[figure].median / reference[figure].median]);
  return [what, ...compared, firstLook.claimMs, firstLook.claimPages];
}

function goalOf(of: string, trapped: Spread, reference: Spread): Goal {
  return { of, value: trapped.median / reference.median, atMost: AT_MOST, unit: '×' };
}
