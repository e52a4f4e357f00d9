import { randomInt } from 'node:crypto';
import type pg from 'pg';
import type { Claim } from '../../functions/queue/job.ts';
import { reap } from '../../functions/queue/reap.ts';
import { release } from '../../functions/queue/release.ts';
import { retry } from '../../functions/queue/retry.ts';
import { expireLease, pendingJob } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimSome } from './claiming.ts';

const KEYS = Array.from({ length: 8 }, (_, n) => `key ${n}`);
const error = { attempt: 1, name: 'Error', message: 'boom' };

/** Puts a job in unless a twin is pending (or also running), in a transaction that stays open for a while and may come to nothing. */
async function produce(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(
      `SELECT millrace.enqueue('test.kind', '{}', max_attempts => 1000, unique_key => $1, unique_while => $2, replace => $3)`,
      [KEYS[randomInt(KEYS.length)], randomInt(4) === 0 ? 'live' : 'pending', randomInt(3) === 0 ? ['payload'] : null],
    );
    // As long as a transaction of somebody's may last: longer than a return waits, now and then.
    await client.query('SELECT pg_sleep($1)', [randomInt(4) === 0 ? 0.2 : 0.005]);
    await client.query(randomInt(3) === 0 ? 'ROLLBACK' : 'COMMIT');
  } finally {
    client.release();
  }
}

test('whatever races, no way back fails, and in the end one job of each key is pending and all others gave way', async ({
  db,
}) => {
  for (const uniqueKey of KEYS) await pendingJob(db, { uniqueKey, maxAttempts: 1000 });
  const claims: Claim[] = [];
  const some = () => claims.splice(0, 1 + randomInt(6));
  const ops: readonly (() => Promise<unknown>)[] = [
    () => produce(db),
    () => produce(db),
    async () => claims.push(...(await claimSome(db, { limit: 6 })).jobs),
    async () => claims.push(...(await claimSome(db, { limit: 6 })).jobs),
    () =>
      retry(
        db,
        some().map((job) => ({ ...job, error, delaySeconds: 0 })),
      ),
    () =>
      release(
        db,
        some().map((job) => ({ ...job, delaySeconds: 0 })),
      ),
    async () => {
      for (const { id } of some()) await expireLease(db, id);
      await reap(db, { limit: 10 });
      // What went back is due at once, and nobody is a suspect, so that the next claim takes it.
      await db.query(
        `UPDATE millrace.live_jobs SET run_at = clock_timestamp(), reaps = 0 WHERE status = 'pending' AND run_at > now()`,
      );
    },
  ];
  let left = 600;
  const loop = async () => {
    while (left-- > 0) await ops[randomInt(ops.length)]?.();
  };
  await Promise.all(Array.from({ length: 8 }, loop));

  await db.query(`UPDATE millrace.live_jobs SET locked_until = now() WHERE status = 'processing'`);
  while ((await reap(db, { limit: 1000 })).length > 0);
  const { rows: pending } = await db.query(
    `SELECT unique_key, array_agg(DISTINCT status::text) AS states, count(*)::int AS n
     FROM millrace.live_jobs GROUP BY unique_key ORDER BY unique_key`,
  );
  expect(pending).toEqual(KEYS.map((unique_key) => ({ unique_key, states: ['pending'], n: 1 })));
  const { rows: ended } = await db.query(
    `SELECT count(*)::int AS n,
            count(*) FILTER (WHERE f.status = 'cancelled' AND f.errors -> -1 ->> 'name' = 'Superseded')::int AS superseded,
            (SELECT count(*)::int FROM millrace.payloads) - (SELECT count(*)::int FROM millrace.live_jobs) AS expected
     FROM millrace.finished_jobs f`,
  );
  expect(ended[0].superseded).toBe(ended[0].n);
  expect(ended[0].n).toBe(ended[0].expected);
  expect(ended[0].n).toBeGreaterThan(10);
});
