import { expect, test } from '../../support/fixtures.ts';
import { pinHorizon } from './pin.ts';

test('vacuum removes nothing while the horizon is pinned, and all of it afterwards', async ({ own: { pool, url } }) => {
  await pool.query('CREATE TABLE flow WITH (autovacuum_enabled = off) AS SELECT n FROM generate_series(1, 1000) n');
  const release = await pinHorizon(url);
  await pool.query('DELETE FROM flow');
  const pagesVacuumed = async () => {
    await pool.query('VACUUM flow');
    const { rows } = await pool.query(`SELECT pg_relation_size('flow') / 8192 AS pages`);
    return Number(rows[0].pages);
  };
  expect(await pagesVacuumed()).toBe(5);
  await release();
  expect(await pagesVacuumed()).toBe(0);
});
