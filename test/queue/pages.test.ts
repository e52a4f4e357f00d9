import { get } from '../../functions/queue/get.ts';
import { openClient } from '../support/database.ts';
import { idFrom } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { costOf } from './pages.ts';

test('what a session reads because it was told to forget its tables is not counted', async ({ own: { directUrl } }) => {
  const client = await openClient(directUrl);
  const other = await openClient(directUrl);
  try {
    const id = await idFrom(client, 0);
    const look = () => costOf(client, 'force_generic_plan', (db) => get(db, id, { payload: true, result: true }));
    await look();
    const { pages } = await look();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    let told = false;
    client.query = (async (...args: unknown[]) => {
      if (!told && String(args[0]).startsWith('EXECUTE')) {
        told = true;
        await other.query('ANALYZE millrace.live_jobs, millrace.finished_jobs, millrace.payloads, millrace.dead_jobs');
      }
      return query(...args);
    }) as typeof client.query;
    expect((await look()).pages).toBeLessThanOrEqual(pages);
    expect(told).toBe(true);
  } finally {
    await Promise.all([client.end(), other.end()]);
  }
});
