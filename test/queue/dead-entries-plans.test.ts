import type { Db } from '../../functions/queue/db.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { rollUp } from '../../functions/queue/roll-up.ts';
import { stats } from '../../functions/queue/stats.ts';
import { expect, openClient, test } from '../support/fixtures.ts';
import { costOf, type PlanMode } from './pages.ts';

const MANY = 3000;

/** Jobs of a kind that have been put in, claimed and completed, by what it leaves in live_jobs. */
async function flowed(db: Db): Promise<void> {
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, run_at) SELECT millrace.uuidv7(), 'busy', now() FROM generate_series(1, $1::int)`,
    [MANY],
  );
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = 1, locked_by = id, locked_until = now() + interval '1 minute'`,
  );
  await db.query('DELETE FROM millrace.live_jobs');
  await db.query(
    `INSERT INTO millrace.counter_deltas (kind, event, n) VALUES ('busy', 'enqueued', $1), ('busy', 'completed', $1)`,
    [MANY],
  );
  await rollUp(db);
}

test('the state walks what a pinned horizon keeps of a kind once for what waits and once for what runs', async ({
  own: { pool: db, url },
}) => {
  await openPosition(db, 'default', new Map([['busy', 30]]));
  const pinning = await openClient(url);
  const client = await openClient(url);
  try {
    await pinning.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await pinning.query('SELECT count(*) FROM millrace.live_jobs');
    await flowed(db);
    await db.query(
      `INSERT INTO millrace.live_jobs (id, kind, queue, run_at)
       VALUES (millrace.uuidv7(), 'calm', 'side', now()), (millrace.uuidv7(), 'zany', 'default', now())`,
    );
    for (const mode of ['force_custom_plan', 'force_generic_plan'] satisfies PlanMode[]) {
      const state = await costOf(client, mode, (on) => stats(on));
      expect.soft(state.entries, `stats, ${mode}`).toBeLessThan(2 * MANY + 100);
      const ready = await costOf(client, mode, (on) => readiness(on));
      expect.soft(ready.entries, `readiness, ${mode}`).toBeLessThan(MANY + 100);
    }
    expect((await stats(db)).kinds.map(({ kind }) => kind)).toEqual(['busy', 'calm', 'zany']);
    expect(await readiness(db)).toMatchObject({ unclaimedKinds: ['calm', 'zany'], unclaimedQueues: ['side'] });
  } finally {
    await pinning.end();
    await client.end();
  }
});
