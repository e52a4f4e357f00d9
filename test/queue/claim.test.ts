import { randomUUID } from 'node:crypto';
import { cancel } from '../../functions/queue/cancel.ts';
import { claim } from '../../functions/queue/claim.ts';
import type { Db } from '../../functions/queue/db.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { liveRowOf, pendingJob, processingJob, rowOf } from '../support/factories.ts';
import { describe, expect, openPool, test } from '../support/fixtures.ts';
import { claimedIds, claimSome, KINDS } from './claiming.ts';
import { waitsForLock, withSessions } from './sessions.ts';

describe('what a claim takes', () => {
  test('a claimed job is processing under the token, one attempt spent, with the lease of its kind', async ({ db }) => {
    const origin = { requestId: 'request-7', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
    const fields = { kind: 'long.kind', subject: 'invoice:7', payload: { n: [1] }, attempts: 2, ...origin };
    const job = await pendingJob(db, fields);
    const kinds = new Map([
      ['test.kind', 30],
      ['long.kind', 300.5],
    ]);
    const { jobs, token } = await claimSome(db, { kinds });
    const { rows } = await db.query(
      `SELECT to_char(run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS run_at,
              to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS created_at,
              (extract(epoch FROM started_at - run_at) * 1000)::float8 AS waited_ms,
              extract(epoch FROM locked_until - started_at)::float8 AS lease
       FROM millrace.live_jobs`,
    );
    expect(jobs).toEqual([
      {
        id: job.id,
        token,
        kind: 'long.kind',
        queue: 'default',
        priority: 0,
        subject: 'invoice:7',
        attempts: 3,
        maxAttempts: 5,
        reaps: 0,
        runAt: rows[0]?.run_at,
        createdAt: rows[0]?.created_at,
        waitedMs: expect.closeTo(rows[0]?.waited_ms, 6),
        payload: { n: [1] },
        ...origin,
      },
    ]);
    expect(rows[0]?.lease).toBeCloseTo(300.5, 2);
    expect(await liveRowOf(db, job.id)).toMatchObject({ status: 'processing', attempts: 3, locked_by: token });
  });

  test('higher priorities come first, and within one the longest due', async ({ db }) => {
    const expected: string[] = [];
    for (const priority of [5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5]) {
      const later = await pendingJob(db, { priority, dueInSeconds: -1 });
      const sooner = await pendingJob(db, { priority, dueInSeconds: -2 });
      expected.push(sooner.id, later.id);
    }
    expect(await claimedIds(db, { limit: 30 })).toEqual(expected);
  });

  test('a claim takes no more than it asks for, the most urgent', async ({ db }) => {
    const low = await pendingJob(db, { priority: -1 });
    const [first, second] = [await pendingJob(db, { priority: 2 }), await pendingJob(db, { priority: 1 })];
    expect(await claimedIds(db, { limit: 2 })).toEqual([first.id, second.id]);
    expect(await claimedIds(db, { limit: 2 })).toEqual([low.id]);
  });

  test('what is not due, not of these kinds, of another queue, running or suspect stays where it is', async ({
    db,
  }) => {
    await pendingJob(db, { dueInSeconds: 1 });
    await pendingJob(db, { kind: 'foreign.kind' });
    await pendingJob(db, { queue: 'other' });
    await pendingJob(db, { reaps: 2, attempts: 2 });
    await processingJob(db);
    expect(await claimedIds(db)).toEqual([]);
  });

  test('a job reaped once is claimed as any other', async ({ db }) => {
    const job = await pendingJob(db, { reaps: 1, attempts: 1 });
    expect(await claimedIds(db)).toEqual([job.id]);
  });

  test('an empty claim answers all the same: where it has seen to, and whether a suspect is due', async ({ db }) => {
    const empty = await claimSome(db);
    expect(empty).toMatchObject({ jobs: [], suspectDue: false, rescanDue: false });
    const [mark] = empty.position.marks;
    const { rows } = await db.query(`SELECT now() - $1::timestamptz BETWEEN '2 s' AND '20 s' AS ok`, [mark]);
    expect(rows).toEqual([{ ok: true }]);
    await pendingJob(db, { reaps: 2, attempts: 2, dueInSeconds: 60 });
    await pendingJob(db, { reaps: 2, attempts: 2, kind: 'foreign.kind' });
    expect(await claimSome(db)).toMatchObject({ suspectDue: false });
    await pendingJob(db, { reaps: 2, attempts: 2 });
    expect(await claimSome(db)).toMatchObject({ jobs: [], suspectDue: true });
  });

  test('a kind that came without a payload row does not stop the others', async ({ db }) => {
    const bare = await pendingJob(db);
    const other = await pendingJob(db);
    await db.query('DELETE FROM millrace.payloads WHERE id = $1', [bare.id]);
    const { jobs } = await claimSome(db);
    expect(jobs.map((job) => [job.id, job.payload])).toEqual([
      [bare.id, null],
      [other.id, {}],
    ]);
  });
});

describe('the share of the oldest', () => {
  test('some of a claim goes to the longest due, whatever their priority', async ({ db }) => {
    const old = await pendingJob(db, { priority: -5, dueInSeconds: -60 });
    const older = await pendingJob(db, { priority: -3, dueInSeconds: -70 });
    await pendingJob(db, { priority: -4, dueInSeconds: -50 });
    const urgent = [];
    for (let n = 0; n < 4; n++) urgent.push((await pendingJob(db, { priority: 5 })).id);
    expect(await claimedIds(db, { limit: 4, aged: 2 })).toEqual([...urgent.slice(0, 2), older.id, old.id]);
  });

  test('a claim of one row can be the share of the oldest', async ({ db }) => {
    const urgent = await pendingJob(db, { priority: 5 });
    const old = await pendingJob(db, { priority: -5, dueInSeconds: -60 });
    const { jobs, position } = await claimSome(db, { limit: 1, aged: 1 });
    expect(jobs.map((job) => job.id)).toEqual([old.id]);
    expect(await claimedIds(db, { limit: 1, position })).toEqual([urgent.id]);
  });

  test('a row that is both urgent and old counts once', async ({ db }) => {
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push((await pendingJob(db)).id);
    expect(await claimedIds(db, { limit: 5, aged: 3 })).toEqual(ids);
  });

  test('if the oldest are held by somebody else, the urgent fill the claim', async ({ db, databaseUrl }) => {
    const old = await pendingJob(db, { priority: -5, dueInSeconds: -60 });
    const urgent = [await pendingJob(db), await pendingJob(db)].map((job) => job.id);
    await withSessions(databaseUrl, async (session) => {
      await session.begin();
      await session.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR UPDATE', [old.id]);
      expect(await claimedIds(db, { limit: 2, aged: 1 })).toEqual(urgent);
    });
  });

  test('nothing starves under urgent work that never ends', async ({ db }) => {
    const low = await pendingJob(db, { priority: -5, dueInSeconds: -1 });
    let position = await openPosition(db, 'default', KINDS);
    for (let n = 0; n < 10; n++) await pendingJob(db, { priority: 5 });
    const claimed = await claimSome(db, { position, limit: 9 });
    expect(claimed.jobs.every((job) => job.priority === 5)).toBe(true);
    for (let n = 0; n < 10; n++) await pendingJob(db, { priority: 5 });
    position = claimed.position;
    expect(await claimedIds(db, { position, limit: 10, aged: 1 })).toContain(low.id);
  });
});

describe('bytes', () => {
  /** Factories count the bytes of the payload's JSON: this one has 1,000. */
  const heavy = { payload: 'x'.repeat(998) };

  test('a claim stops where the payloads become too heavy, and the next one goes on from there', async ({ db }) => {
    const ids = [];
    for (let n = 0; n < 5; n++) ids.push((await pendingJob(db, { ...heavy, dueInSeconds: -60 + n })).id);
    const first = await claimSome(db, { maxBytes: 2999 });
    expect(first.jobs.map((job) => job.id)).toEqual(ids.slice(0, 2));
    const second = await claimSome(db, { maxBytes: 3000, position: first.position });
    expect(second.jobs.map((job) => job.id)).toEqual(ids.slice(2));
  });

  test('the first row comes however heavy it is', async ({ db }) => {
    const [one, two] = [await pendingJob(db, heavy), await pendingJob(db, heavy)];
    const { jobs, position } = await claimSome(db, { maxBytes: 1 });
    expect(jobs.map((job) => job.id)).toEqual([one.id]);
    expect(await claimedIds(db, { maxBytes: 1, position })).toEqual([two.id]);
  });

  test('an old row that was too heavy is found again as well', async ({ db }) => {
    const oldest = await pendingJob(db, { ...heavy, priority: -5, dueInSeconds: -60 });
    const old = await pendingJob(db, { ...heavy, priority: -4, dueInSeconds: -50 });
    const { jobs, position } = await claimSome(db, { limit: 10, aged: 2, maxBytes: 1500 });
    expect(jobs.map((job) => job.id)).toEqual([oldest.id]);
    expect(await claimedIds(db, { position })).toEqual([old.id]);
  });

  test('a row left out is pending and untouched', async ({ db }) => {
    await pendingJob(db, heavy);
    const left = await pendingJob(db, heavy);
    await claimSome(db, { maxBytes: 1000 });
    expect(await rowOf(db, left.id)).toMatchObject({ status: 'pending', attempts: 0, locked_by: null });
  });
});

test('rows that change while a claim is under way are judged as they are now', async ({ own }) => {
  // The lock that it waits for is a session's.
  const { pool: db, directUrl } = own;
  await pauseClaims(db);
  const jobs: { id: string }[] = [];
  for (let n = 0; n < 40; n++) jobs.push(await pendingJob(db, { payload: n, priority: (n % 11) - 5 }));
  const [cancelled, taken, changed] = [jobs.slice(0, 10), jobs.slice(10, 20), jobs.slice(20, 30)];
  await withSessions(directUrl, async (other, claimer) => {
    await other.query('SELECT pg_advisory_lock(1)');
    // It has its snapshot, but not looked at the rows yet.
    const claiming = claimSome(claimer, {
      limit: 100,
      aged: 10,
      position: await openPosition(db, 'default', KINDS),
    });
    await waitsForLock(other, claimer);
    for (const { id } of cancelled) await cancel(other, id);
    await other.query(
      `UPDATE millrace.live_jobs
       SET status = 'processing', attempts = 1, locked_by = gen_random_uuid(), locked_until = now() + interval '1 min'
       WHERE id = ANY ($1)`,
      [taken.map((job) => job.id)],
    );
    await other.query(`UPDATE millrace.live_jobs SET subject = 'changed' WHERE id = ANY ($1)`, [
      changed.map((job) => job.id),
    ]);
    await other.query('SELECT pg_advisory_unlock(1)');
    const claimed = (await claiming).jobs.map((job) => [job.id, job.payload, job.attempts]);
    const left = jobs.map((job, n) => [job.id, n, 1]).slice(20);
    expect(claimed.sort()).toEqual(left.sort());
  });
});

/** Makes claims of that database wait for an advisory lock after they have taken their snapshot. */
async function pauseClaims(db: Db): Promise<void> {
  const place = 'FROM lane l\n';
  const { rows } = await db.query<{ text: string }>(
    `SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE proname = 'claim'`,
  );
  const text = rows[0]?.text as string;
  expect(text).toContain(place);
  await db.query(text.replace(place, `${place}CROSS JOIN (SELECT pg_advisory_xact_lock(1)) pause\n`));
}

test('eight claimers at once never share a job, and leave none', async ({ db, databaseUrl }) => {
  await db.query(
    `SELECT millrace.enqueue('test.kind', '{}'::jsonb, priority => n % 11 - 5) FROM generate_series(1, 2000) n`,
  );
  const pool = openPool(databaseUrl, 8);
  const taken: string[] = [];
  const work = async (worker: number) => {
    let position = await openPosition(pool, 'default', KINDS);
    for (let round = 0, misses = 0; misses < 3; round++) {
      const claimed = await claim(pool, {
        token: randomUUID(),
        queue: 'default',
        limit: 1 + ((worker + round) % 12),
        aged: (worker + round) % 2,
        kinds: KINDS,
        position,
        maxBytes: 4_000_000,
      });
      position = claimed.position;
      taken.push(...claimed.jobs.map((job) => job.id));
      misses = claimed.jobs.length === 0 ? misses + 1 : 0;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));
  await pool.end();
  expect(new Set(taken).size).toBe(taken.length);
  expect(taken.length).toBe(2000);
  const { rows } = await db.query(
    'SELECT status, attempts, count(*)::int AS jobs FROM millrace.live_jobs GROUP BY 1, 2',
  );
  expect(rows).toEqual([{ status: 'processing', attempts: 1, jobs: 2000 }]);
});
