import type pg from 'pg';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';

/** What a user's test does around each of its own. */
export async function rolledBack<T>(pool: pg.Pool, fn: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    return await fn(client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

export const contracts = {
  'invoice.send': defineJob({
    payload: z.object({ id: z.int(), lines: z.array(z.string()).default([]) }),
    maxAttempts: 3,
  }),
  'receipt.print': defineJob({ payload: z.object({ invoice: z.int() }), queue: 'printer' }),
};

/** Rows of all of Millrace's tables together, as another transaction sees them. */
export async function rowsOutside(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(`
    SELECT ((SELECT count(*) FROM millrace.jobs) + (SELECT count(*) FROM millrace.payloads)
            + (SELECT count(*) FROM millrace.counter_deltas) + (SELECT count(*) FROM millrace.job_progress))::int AS n`);
  return (rows[0] as { n: number }).n;
}
