import { blocksOf } from '../docs/blocks.ts';
import { runOn } from '../lifecycle/ground.ts';
import { inDatabase } from '../support/database.ts';
import { pendingJob } from '../support/factories.ts';
import { expect, inject } from '../support/fixtures.ts';
import { startPgbouncer } from '../support/pgbouncer.ts';
import { contracts, databaseOf, kind, test } from './ground.ts';

test('docs/poolers.md shows settings with which a PgBouncer starts, and a run goes through it', async ({ own }) => {
  const [block, ...others] = blocksOf('docs/poolers.md');
  expect([block?.language, others]).toEqual(['ini', []]);
  const lines = String(block?.text.split('[pgbouncer]')[1]).trim().split('\n');
  // Where it listens and as whom it looks passwords up are the reader's.
  const settings = Object.fromEntries(
    lines.map((line) => line.split(' = ') as [string, string]).filter(([name]) => !/^(listen_|auth_user)/.test(name)),
  );
  expect(settings).toMatchObject({ pool_mode: 'transaction', auth_type: 'scram-sha-256' });
  const pooler = await startPgbouncer(inject('serverUrl'), settings);
  await pendingJob(own.pool);
  const url = inDatabase(pooler.url, databaseOf(own.directUrl));
  expect(await runOn(url, { contracts, processors: { [kind]: () => 'done' } })).toMatchObject({ completed: 1 });
  await pooler.stop();
});
