import { pendingJob } from '../../support/factories.ts';
import { expect, test } from '../../support/fixtures.ts';
import { sizesOf } from './sizes.ts';

test('the queue table is counted apart from what is kept, and every table once', async ({ own: { pool } }) => {
  const before = await sizesOf(pool, 'millrace.live_jobs');
  await pool.query('CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) n');
  const after = await sizesOf(pool, 'millrace.live_jobs');
  const { rows } = await pool.query(`SELECT pg_total_relation_size('kept')::int AS bytes`);
  expect(after).toMatchObject({ tableBytes: before.tableBytes, indexBytes: before.indexBytes });
  expect(after.restBytes - before.restBytes).toBe(rows[0].bytes);
  await pendingJob(pool);
  const grown = await sizesOf(pool, 'millrace.live_jobs');
  expect(grown.tableBytes).toBeGreaterThan(after.tableBytes);
  expect(grown.indexBytes).toBeGreaterThan(after.indexBytes);
});
