import { openClient } from '../../support/database.ts';

/**
 * A transaction that has a snapshot and stays open, as a forgotten session, a long report or a replica's feedback is: vacuum
 * may remove nothing that has died since. Resolves what ends it.
 */
export async function pinHorizon(databaseUrl: string): Promise<() => Promise<void>> {
  const client = await openClient(databaseUrl);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM pg_class');
  const { rows } = await client.query<{ pinned: boolean }>(
    'SELECT backend_xmin IS NOT NULL AS pinned FROM pg_stat_activity WHERE pid = pg_backend_pid()',
  );
  if (!rows[0]?.pinned) throw new Error('the open transaction does not hold the horizon');
  return () => client.end();
}
