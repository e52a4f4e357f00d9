import type pg from 'pg';
import { percentile } from '../frame/spread.ts';
import { pending } from './lay.ts';
import type { TrapWorker } from './worker.ts';

/**
 * Of claims, and of the settling of what they brought. Times are those of the client, without the commit: medians, and of claims the
 * mean too. Pages are means. One claim in ten takes ten of the oldest, so the means have what the medians have not.
 */
export interface Figures {
  readonly claimMs: number;
  readonly claimMeanMs: number;
  readonly claimPages: number;
  readonly settleMs: number;
  readonly settlePages: number;
}

const BATCH = 10;

const PAGES = `
SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::int AS pages
FROM pg_class c
WHERE c.relnamespace = 'millrace'::regnamespace`;

/** Puts in as many jobs as it then takes in batches of ten. */
export async function measured(client: pg.Client, worker: TrapWorker, batches: number): Promise<Figures> {
  await pending(client, { rows: batches * BATCH });
  const all: Once[] = [];
  while (all.length < batches) all.push(await once(client, worker));
  const median = (figure: keyof Once) =>
    percentile(
      all.map((one) => one[figure]),
      0.5,
    );
  const mean = (figure: keyof Once) => all.reduce((sum, one) => sum + one[figure], 0) / all.length;
  return {
    claimMs: median('claimMs'),
    claimMeanMs: mean('claimMs'),
    claimPages: mean('claimPages'),
    settleMs: median('settleMs'),
    settlePages: mean('settlePages'),
  };
}

type Once = Omit<Figures, 'claimMeanMs'>;

async function once(client: pg.Client, worker: TrapWorker): Promise<Once> {
  const claimed = await costOf(client, () => worker.claim(client, BATCH));
  if (claimed.answer.jobs.length < BATCH) throw new Error(`a claim of ${BATCH} brought ${claimed.answer.jobs.length}`);
  const settled = await costOf(client, () => worker.complete(client, claimed.answer));
  return { claimMs: claimed.ms, claimPages: claimed.pages, settleMs: settled.ms, settlePages: settled.pages };
}

/** By the counters of a transaction of its own. */
async function costOf<T>(client: pg.Client, act: () => Promise<T>): Promise<{ ms: number; pages: number; answer: T }> {
  await client.query('BEGIN');
  const before = await pages(client);
  const begun = performance.now();
  const answer = await act();
  const ms = performance.now() - begun;
  const after = await pages(client);
  await client.query('COMMIT');
  return { ms, pages: after - before, answer };
}

async function pages(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pages: number }>(PAGES);
  return rows[0]?.pages ?? Number.NaN;
}
