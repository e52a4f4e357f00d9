import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../functions/queue/db.ts';
import { upkeep } from '../../functions/queue/upkeep.ts';
import { openClient, openPool } from '../support/database.ts';
import { deadJob, finishedJob, idFrom, pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { dayOf, homeOf, layPastDays, partitionsOf } from '../support/partitions.ts';

const DAY = 86_400;
const NOTHING = { created: [], dropped: [], postponed: false };

describe('ahead', () => {
  test('the coming days get a partition each, and a second call finds nothing to do', async ({ own: { pool } }) => {
    const { created, postponed } = await upkeep(pool, { keepDays: 7, aheadDays: 10 });
    expect(postponed).toBe(false);
    expect(created).toContain(`millrace.payloads_${await dayOf(pool, -10 * DAY)}`);
    expect(created).toContain(`millrace.finished_jobs_${await dayOf(pool, -10 * DAY)}`);
    const days = await partitionsOf(pool, 'payloads');
    for (let day = 0; day <= 10; day++) expect(days).toContain(await dayOf(pool, -day * DAY));
    expect(await upkeep(pool, { keepDays: 7, aheadDays: 10 })).toEqual(NOTHING);
  });

  test('few partitions cover everything: days at first, then ever wider, open at both ends', async ({
    own: { pool },
  }) => {
    for (const table of ['payloads', 'finished_jobs'] as const) {
      const parts = await partitionsOf(pool, table);
      expect(parts.at(0)).toBe('oldest');
      expect(parts.at(-1)).toBe('newest');
      expect(parts.length).toBeLessThan(12);
      const { rows } = await pool.query(
        `SELECT count(*) FILTER (WHERE lower IS DISTINCT FROM before)::int AS gaps
         FROM (SELECT lower, lag(upper) OVER (ORDER BY lower NULLS FIRST) AS before FROM millrace.partitions($1)) p`,
        [table],
      );
      expect(rows).toEqual([{ gaps: 0 }]);
    }
  });

  test('rows of clocks that are ahead move along when their partition is cut', async ({ own: { pool } }) => {
    const ahead = [1, 5, 8, 20, 40, 400, 5000].map((days) => -days * DAY);
    const jobs = await Promise.all(
      ahead.map((createdSecondsAgo) => pendingJob(pool, { createdSecondsAgo, payload: { createdSecondsAgo } })),
    );
    const ends = await Promise.all(ahead.map((createdSecondsAgo) => finishedJob(pool, { createdSecondsAgo })));
    await upkeep(pool, { keepDays: 7, aheadDays: 9 });
    for (const [index, { id }] of jobs.entries()) {
      expect((await rowOf(pool, id))?.payload).toEqual({ createdSecondsAgo: ahead[index] });
    }
    for (const { id } of ends) expect(await statusOf(pool, id)).toBe('completed');
    // Inside the nine days, the home is the day itself.
    expect(await homeOf(pool, 'payloads', jobs[1]?.id as string)).toBe(await dayOf(pool, -5 * DAY));
    expect(await homeOf(pool, 'finished_jobs', ends[2]?.id as string)).toBe(await dayOf(pool, -8 * DAY));
  });

  test('every id has a home, whatever its clock or version', async ({ own: { pool } }) => {
    await layPastDays(pool, 9);
    const ids = [
      '00000000-0000-0000-0000-000000000000',
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
      randomUUID(),
      ...(await Promise.all(
        [-20_000, -3000, -40, -1, 0, 1, 8, 9, 10, 4000, 18_000].map((days) => idFrom(pool, days * DAY)),
      )),
    ];
    for (const id of ids) await pool.query(`SELECT millrace.enqueue('test.kind', '{}', id => $1)`, [id]);
    await upkeep(pool, { keepDays: 7, aheadDays: 5 });
    for (const id of ids) {
      expect(await homeOf(pool, 'payloads', id), id).toBeDefined();
      expect((await rowOf(pool, id))?.payload, id).toEqual({});
    }
    await pool.query(
      `UPDATE millrace.live_jobs SET status = 'processing', attempts = 1, locked_by = id, locked_until = now()`,
    );
    const { rowCount } = await pool.query(
      `WITH gone AS (DELETE FROM millrace.live_jobs RETURNING *)
       INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
       SELECT id, kind, queue, 'completed', priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes FROM gone`,
    );
    expect(rowCount).toBe(ids.length);
  });

  test('a partition that holds much is not cut: it would be read under the lock', async ({ own: { pool } }) => {
    // An hour after the beginning of the first that is wider than a day: nothing would have to move.
    await pool.query(
      `INSERT INTO millrace.payloads
       SELECT overlay(millrace.uuidv7()::text PLACING substr(millrace.uuidv7_floor(begins)::text, 1, 13) FROM 1)::uuid,
              jsonb_build_object('n', n, 'fill', repeat('x', 400))
       FROM (SELECT min(millrace.uuidv7_time(lower)) + interval '1 hour' AS begins
             FROM millrace.partitions('payloads')
             WHERE millrace.uuidv7_time(upper) - millrace.uuidv7_time(lower) > interval '25 hours') wide,
            generate_series(1, 20000) n`,
    );
    const before = await partitionsOf(pool, 'payloads');
    const { created } = await upkeep(pool, { keepDays: 7, aheadDays: 10 });
    expect(created.filter((part) => part.startsWith('millrace.payloads'))).toEqual([]);
    expect(created.filter((part) => part.startsWith('millrace.finished'))).not.toEqual([]);
    expect(await partitionsOf(pool, 'payloads')).toEqual(before);
  });
});

describe('retention', () => {
  test('old days go whole; what is still needed stays', async ({ own: { pool } }) => {
    await layPastDays(pool, 12);
    const old = { createdSecondsAgo: 10 * DAY };
    const gone = await finishedJob(pool, { ...old, finishedSecondsAgo: 10 * DAY });
    const waiting = await pendingJob(pool, { ...old, payload: { kept: 'because it waits' } });
    const late = await finishedJob(pool, {
      ...old,
      finishedSecondsAgo: DAY,
      payload: { kept: 'because it ended late' },
    });
    const dead = await deadJob(pool, { ...old, finishedSecondsAgo: 10 * DAY, payload: { own: 'copy' } });
    const recent = await finishedJob(pool, { createdSecondsAgo: 2 * DAY, finishedSecondsAgo: 2 * DAY });

    const { dropped, postponed } = await upkeep(pool, { keepDays: 7, aheadDays: 3 });

    expect(postponed).toBe(false);
    // Days 8 to 12 are whole days older than 7; both tables lose them.
    expect(dropped).toHaveLength(10);
    expect(await partitionsOf(pool, 'payloads')).not.toContain(await dayOf(pool, 10 * DAY));
    expect(await partitionsOf(pool, 'payloads')).toContain(await dayOf(pool, 7 * DAY));
    expect(await rowOf(pool, gone.id)).toBeUndefined();
    expect(await homeOf(pool, 'payloads', gone.id)).toBeUndefined();
    expect((await rowOf(pool, waiting.id))?.payload).toEqual({ kept: 'because it waits' });
    expect(await homeOf(pool, 'payloads', waiting.id)).toBe('oldest');
    expect((await rowOf(pool, late.id))?.payload).toEqual({ kept: 'because it ended late' });
    expect(await rowOf(pool, dead.id)).toMatchObject({ status: 'dead', payload: { own: 'copy' } });
    expect(await homeOf(pool, 'payloads', dead.id)).toBeUndefined();
    expect(await statusOf(pool, recent.id)).toBe('completed');
    expect(await upkeep(pool, { keepDays: 7, aheadDays: 3 })).toEqual(NOTHING);
  });

  test('after every day has gone, the oldest partition still takes ids of those days', async ({ own: { pool } }) => {
    await layPastDays(pool, 12);
    await upkeep(pool, { keepDays: 1, aheadDays: 1 });
    const job = await pendingJob(pool, { createdSecondsAgo: 5 * DAY });
    await finishedJob(pool, { createdSecondsAgo: 5 * DAY });
    expect(await homeOf(pool, 'payloads', job.id)).toBe('oldest');
  });

  test('more than a thousand live jobs keep their day until they are fewer, and the days after it still go', async ({
    own: { pool },
  }) => {
    await layPastDays(pool, 12);
    const crowded = await dayOf(pool, 11 * DAY);
    await liveJobs(pool, 11 * DAY, 1001);
    const other = await pendingJob(pool, { createdSecondsAgo: 9 * DAY, payload: { n: 1 } });
    await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    expect((await partitionsOf(pool, 'payloads')).slice(0, 3)).toEqual(['oldest', crowded, await dayOf(pool, 7 * DAY)]);
    expect(await homeOf(pool, 'payloads', other.id)).toBe(crowded);

    await pool.query('DELETE FROM millrace.live_jobs WHERE id = (SELECT min(id::text)::uuid FROM millrace.live_jobs)');
    await pool.query('DELETE FROM millrace.live_jobs WHERE id = (SELECT min(id::text)::uuid FROM millrace.live_jobs)');
    const { dropped } = await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    expect(dropped).toEqual([`millrace.payloads_${crowded}`]);
    const { rows } = await pool.query('SELECT count(payload)::int AS n FROM millrace.jobs');
    expect(rows).toEqual([{ n: 1000 }]);
  });

  test('payloads of a day wait for its finished jobs, so that none is left without its job', async ({
    own: { pool },
  }) => {
    await layPastDays(pool, 10);
    const day = await dayOf(pool, 9 * DAY);
    await pool.query(
      `INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
       SELECT overlay(millrace.uuidv7()::text PLACING substr(millrace.uuidv7_floor(now() - interval '9 days')::text, 1, 13) FROM 1)::uuid,
              'test.kind', 'default', 'completed', 0, 1, 5, 0, now(), now(), 2
       FROM generate_series(1, 1001)`,
    );
    await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    expect(await partitionsOf(pool, 'finished_jobs')).toContain(day);
    expect(await partitionsOf(pool, 'payloads')).toContain(day);
  });

  test('the oldest partition grows without being read under the lock', async ({ own: { directUrl, pool } }) => {
    await layPastDays(pool, 10);
    const client = await openClient(directUrl);
    const said: (string | undefined)[] = [];
    client.on('notice', ({ message }) => said.push(message));
    await client.query('SET client_min_messages = debug1');
    await upkeep(client, { keepDays: 7, aheadDays: 3 });
    await client.end();
    const implied = (part: string) =>
      said.filter((line) => line?.startsWith(`partition constraint for table "${part}" is implied`)).length;
    // One ATTACH for each of the days 8, 9 and 10.
    expect(implied('payloads_oldest')).toBe(3);
    expect(implied('finished_jobs_oldest')).toBe(3);
  });

  test('all partitions have the same indexes and settings, however they came about', async ({ own: { pool } }) => {
    await layPastDays(pool, 9);
    await pendingJob(pool, { createdSecondsAgo: -6 * DAY });
    await upkeep(pool, { keepDays: 7, aheadDays: 8 });
    for (const parent of ['payloads', 'finished_jobs']) {
      const { rows } = await pool.query<{ part: string; settings: string; indexes: string[] }>(
        `SELECT part::text, c.reloptions::text AS settings, array_agg(i.shape ORDER BY i.shape) AS indexes
         FROM (SELECT part FROM millrace.partitions($1) UNION ALL SELECT format('millrace.%I', $1::text)::regclass) parts
         JOIN pg_class c ON c.oid = part
         CROSS JOIN LATERAL (
           SELECT regexp_replace(pg_get_indexdef(indexrelid), ' INDEX .* USING', '') AS shape
           FROM pg_index
           WHERE indrelid = part
         ) i
         GROUP BY part, c.reloptions`,
        [parent],
      );
      const model = rows.find(({ part }) => part === `millrace.${parent}`);
      const parts = rows.filter((row) => row !== model);
      expect(parts.length).toBeGreaterThan(10);
      for (const { part, indexes, settings } of parts) {
        expect({ part, indexes }).toEqual({ part, indexes: model?.indexes });
        expect(settings).toContain('autovacuum_analyze_scale_factor=0.05');
      }
    }
  });
});

describe('others at work', () => {
  test('a long open enqueue postpones upkeep, which never makes another enqueue wait for longer than its try', async ({
    own: { url, pool },
  }) => {
    await layPastDays(pool, 9);
    const long = await openClient(url);
    await long.query('BEGIN');
    await long.query(`SELECT millrace.enqueue('test.kind', '{}')`);

    const others = openPool(url, 3);
    let stop = false;
    let longestMs = 0;
    const busy = [1, 2, 3].map(async () => {
      while (!stop) {
        const began = performance.now();
        await others.query(`SELECT millrace.enqueue('test.kind', '{}')`);
        longestMs = Math.max(longestMs, performance.now() - began);
      }
    });
    const first = await upkeep(pool, { keepDays: 7, aheadDays: 9 });
    stop = true;
    await Promise.all(busy);
    await others.end();
    await long.query('COMMIT');
    await long.end();

    expect(first.postponed).toBe(true);
    expect(first.created.filter((part) => part.startsWith('millrace.payloads'))).toEqual([]);
    // 100 ms for the try; the rest is for a machine that does other things too.
    expect(longestMs).toBeLessThan(600);
    const second = await upkeep(pool, { keepDays: 7, aheadDays: 9 });
    expect(second.postponed).toBe(false);
    expect(second.created.filter((part) => part.startsWith('millrace.payloads'))).not.toEqual([]);
  });

  test('so does a long open read', async ({ own: { url, pool } }) => {
    const long = await openClient(url);
    await long.query('BEGIN');
    await long.query('SELECT count(*) FROM millrace.jobs');
    expect(await upkeep(pool, { keepDays: 7, aheadDays: 9 })).toEqual({ created: [], dropped: [], postponed: true });
    await long.query('COMMIT');
    await long.end();
    expect((await upkeep(pool, { keepDays: 7, aheadDays: 9 })).postponed).toBe(false);
  });

  test('a vacuum of the partition in question postpones it at once', async ({ own: { url, pool } }) => {
    await layPastDays(pool, 9);
    const vacuum = await openClient(url);
    await vacuum.query('BEGIN');
    await vacuum.query('LOCK TABLE millrace.payloads_oldest IN SHARE UPDATE EXCLUSIVE MODE');
    const { postponed } = await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    await vacuum.query('ROLLBACK');
    await vacuum.end();
    expect(postponed).toBe(true);
    expect((await upkeep(pool, { keepDays: 7, aheadDays: 3 })).dropped).not.toEqual([]);
  });

  test('two at once: one does it, the other is told to come again', async ({ own: { url, pool } }) => {
    const other = await openClient(url);
    await other.query('BEGIN');
    await other.query(`SELECT * FROM millrace.maintain_partitions('7 days', '9 days', 'payloads')`);
    expect((await upkeep(pool, { keepDays: 7, aheadDays: 9 })).postponed).toBe(true);
    await other.query('COMMIT');
    // What one has planned by what it saw before the other committed would fail.
    await other.query('BEGIN');
    await other.query(`SELECT * FROM millrace.maintain_partitions('7 days', '9 days', 'payloads')`);
    const meanwhile = upkeep(pool, { keepDays: 7, aheadDays: 9 });
    await sleep(40);
    await other.query('COMMIT');
    await expect(meanwhile).resolves.toBeDefined();
    await other.end();
    const both = await Promise.all([1, 2].map(() => upkeep(pool, { keepDays: 7, aheadDays: 9 })));
    const created = both.flatMap((each) => each.created);
    expect(new Set(created).size).toBe(created.length);
    await upkeep(pool, { keepDays: 7, aheadDays: 9 });
    expect(await upkeep(pool, { keepDays: 7, aheadDays: 9 })).toEqual(NOTHING);
  });

  test('no live job loses its payload and no recent end is lost while days go', async ({ own: { url, pool } }) => {
    await layPastDays(pool, 25);
    const others = openPool(url, 3);
    const ids: string[] = [];
    let stop = false;
    const busy = [1, 2, 3].map(async () => {
      while (!stop) {
        const id = await idFrom(others, Math.random() * 26 * DAY);
        await others.query(`SELECT millrace.enqueue('test.kind', '{"n": 1}', id => $1)`, [id]);
        ids.push(id);
        // Every second one ends at once.
        if (ids.length % 2 === 0) continue;
        await others.query(
          `WITH gone AS (DELETE FROM millrace.live_jobs WHERE id = $1 RETURNING *)
           INSERT INTO millrace.finished_jobs (id, kind, queue, status, priority, attempts, max_attempts, reaps, run_at, created_at, payload_bytes)
           SELECT id, kind, queue, 'completed', priority, 1, max_attempts, reaps, run_at, created_at, payload_bytes FROM gone`,
          [id],
        );
      }
    });
    const dropped: string[] = [];
    for (let round = 0; round < 40 && dropped.length < 34; round++) {
      dropped.push(...(await upkeep(pool, { keepDays: 7, aheadDays: 3 })).dropped);
    }
    stop = true;
    await Promise.all(busy);
    await others.end();
    // 18 days older than 7, of two tables; a try or two may have been postponed.
    expect(dropped.length).toBeGreaterThan(20);
    const { rows } = await pool.query(
      `SELECT count(*)::int AS jobs, count(payload)::int AS payloads FROM millrace.jobs WHERE id = ANY ($1::uuid[])`,
      [ids],
    );
    expect(rows).toEqual([{ jobs: ids.length, payloads: ids.length }]);
  });

  test('a statement that began before a day went finds the payload that moved meanwhile', async ({
    own: { url, pool },
  }) => {
    await layPastDays(pool, 9);
    const { id } = await pendingJob(pool, { createdSecondsAgo: 9 * DAY, payload: { n: 1 } });
    const long = await openClient(url);
    const read = long.query(
      `SELECT p.payload
       FROM (SELECT $1::uuid AS id, pg_sleep(0.7) OFFSET 0) slow, millrace.payloads_of(ARRAY[slow.id]) p`,
      [id],
    );
    await expect.poll(() => waiting(pool, 'PgSleep')).toBe(1);
    expect((await upkeep(pool, { keepDays: 7, aheadDays: 3 })).postponed).toBe(false);
    expect((await read).rows).toEqual([{ payload: { n: 1 } }]);
    await long.end();
  });

  test('a statement that waited while a day went finds the payload that moved', async ({ own: { url, pool } }) => {
    await layPastDays(pool, 9);
    const { id } = await pendingJob(pool, { createdSecondsAgo: 8.5 * DAY, payload: { n: 1 } });
    await upkeep(pool, { keepDays: 9, aheadDays: 3 });
    const other = await openClient(url);
    await other.query('BEGIN');
    for (const table of ['finished_jobs', 'payloads']) {
      for (let day = 0; day < 2; day++)
        await other.query(`SELECT millrace.maintain_partitions('7 days', '3 days', $1)`, [table]);
    }
    const reads = ['millrace.payloads_of(ARRAY[$1::uuid])', '(SELECT payload FROM millrace.jobs WHERE id = $1)'].map(
      (from) => pool.query(`SELECT payload FROM ${from} p`, [id]),
    );
    await expect.poll(() => waiting(pool, 'relation')).toBe(2);
    await other.query('COMMIT');
    await other.end();
    for (const { rows } of await Promise.all(reads)) expect(rows).toEqual([{ payload: { n: 1 } }]);
    expect(await homeOf(pool, 'payloads', id)).toBe('oldest');
  });

  test('it needs no more rights than to call the function, and nobody has that by default', async ({
    own: { directUrl, pool },
  }) => {
    const role = `worker_${randomUUID().slice(0, 8)}`;
    await pool.query(`CREATE ROLE ${role}`);
    const client = await openClient(directUrl);
    try {
      await pool.query(`GRANT USAGE ON SCHEMA millrace TO ${role}`);
      await client.query(`SET ROLE ${role}`);
      await expect(upkeep(client, { keepDays: 7, aheadDays: 9 })).rejects.toThrow(/permission denied/);
      await pool.query(`GRANT EXECUTE ON FUNCTION millrace.maintain_partitions TO ${role}`);
      expect((await upkeep(client, { keepDays: 7, aheadDays: 9 })).created).not.toEqual([]);
    } finally {
      await client.end();
      await pool.query(`DROP OWNED BY ${role}`);
      await pool.query(`DROP ROLE ${role}`);
    }
  });

  test('it leaves the settings of the session as they were', async ({ own: { directUrl } }) => {
    const client = await openClient(directUrl);
    await client.query('BEGIN');
    await upkeep(client, { keepDays: 7, aheadDays: 9 });
    const { rows } = await client.query(
      `SELECT current_setting('lock_timeout') AS lock, current_setting('enable_seqscan') AS scan`,
    );
    await client.query('COMMIT');
    await client.end();
    expect(rows).toEqual([{ lock: '0', scan: 'on' }]);
  });

  test('a snapshot that would not see late commits is refused', async ({ own: { url } }) => {
    const client = await openClient(url);
    await client.query('SET default_transaction_isolation = serializable');
    await expect(upkeep(client, { keepDays: 7, aheadDays: 3 })).rejects.toThrow(/READ COMMITTED, not in serializable/);
    await client.end();
  });

  test('retention of less than a day is refused', async ({ own: { pool } }) => {
    await expect(upkeep(pool, { keepDays: 0, aheadDays: 3 })).rejects.toThrow(/from 1 day/);
  });
});

async function liveJobs(db: Db, secondsAgo: number, n: number): Promise<void> {
  await db.query(
    `SELECT count(millrace.enqueue('test.kind', '{}', id => overlay(
       millrace.uuidv7()::text PLACING substr(millrace.uuidv7_floor(now() - make_interval(secs => $1))::text, 1, 13) FROM 1)::uuid))
     FROM generate_series(1, $2)`,
    [secondsAgo, n],
  );
}

async function waiting(db: Db, event: string): Promise<number> {
  const { rowCount } = await db.query(
    'SELECT FROM pg_stat_activity WHERE wait_event = $1 AND datname = current_database()',
    [event],
  );
  return rowCount ?? 0;
}
