import type { Db } from '../../functions/queue/db.ts';
import type { JobId } from '../../functions/queue/job.ts';
import type { Operator } from '../../functions/queue/operator.ts';
import { countRedrivable, type RedriveFilter, redriveMany } from '../../functions/queue/redrive-many.ts';
import { counterOf, deadJob, pendingJob, statusOf } from '../support/factories.ts';
import { describe, expect, openClient, test } from '../support/fixtures.ts';
import { logged, operator } from './operator-log.ts';
import { withSessions } from './sessions.ts';

const everything: RedriveFilter = { deadAfter: '1970-01-01T00:00:00Z' };

/** All pages, from `after` on. */
async function redriveAll(
  db: Db,
  {
    filter = everything,
    limit = 1000,
    after,
  }: { filter?: RedriveFilter; limit?: number; after?: JobId | undefined } = {},
  by?: Operator,
) {
  const sum = { redriven: 0, skipped: 0, pages: 0 };
  for (let next: JobId | undefined = after, first = true; first || next !== undefined; first = false) {
    const page = await redriveMany(db, { filter, limit, after: next }, by);
    sum.redriven += page.redriven;
    sum.skipped += page.skipped;
    sum.pages++;
    next = page.next;
  }
  return sum;
}

const pendingIds = async (db: Db) =>
  (await db.query<{ id: string }>('SELECT id FROM millrace.live_jobs ORDER BY id')).rows.map(({ id }) => id);

describe('what fits', () => {
  const at = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1000).toISOString();
  const error = (name: string, message: string) => ({ attempt: 1, name, message });

  test.for<[string, RedriveFilter, number[]]>([
    ['everything', everything, [0, 1, 2, 3]],
    ['a kind', { kind: 'b.kind' }, [2, 3]],
    ['a kind that there is none of', { kind: 'a' }, []],
    ['a part of the last message, whatever its case', { error: 'CONNECTION ref' }, [0, 2]],
    ['a part of its name', { error: 'timeout' }, [1]],
    ['not an earlier error', { error: 'earlier' }, []],
    ['what looks like a pattern is none', { error: '%' }, [3]],
    ['since', { deadAfter: at(250) }, [2, 3]],
    ['until', { deadBefore: at(250) }, [0, 1]],
    ['all of them together', { kind: 'b.kind', error: 'refused', deadAfter: at(250), deadBefore: at(150) }, [2]],
  ])('%s', async ([, filter, expected], { db }) => {
    const jobs = [
      await deadJob(db, { kind: 'a.kind', finishedSecondsAgo: 400, errors: [error('Error', 'connection refused')] }),
      await deadJob(db, { kind: 'a.kind', finishedSecondsAgo: 300, errors: [error('TimeoutError', 'late')] }),
      await deadJob(db, {
        kind: 'b.kind',
        finishedSecondsAgo: 200,
        errors: [error('Error', 'earlier'), error('Error', 'Connection Refused')],
      }),
      await deadJob(db, { kind: 'b.kind', finishedSecondsAgo: 100, errors: [error('Error', '100% wrong')] }),
    ].map(({ id }) => id);
    const fitting = jobs.filter((_, n) => expected.includes(n));
    const request = { filter, limit: 10 };
    expect(await countRedrivable(db, request)).toEqual({ matched: fitting.length, next: undefined });
    expect(await pendingIds(db)).toEqual([]);
    expect(await redriveMany(db, request)).toEqual({ redriven: fitting.length, skipped: 0, next: undefined });
    expect(await pendingIds(db)).toEqual(fitting.toSorted());
  });
});

test('pages follow the ids, and a count walks the same pages', async ({ db }) => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push((await deadJob(db)).id);
  const first = { filter: everything, limit: 2 };
  expect(await countRedrivable(db, first)).toEqual({ matched: 2, next: ids[1] });
  expect(await redriveMany(db, first)).toEqual({ redriven: 2, skipped: 0, next: ids[1] });
  expect(await pendingIds(db)).toEqual(ids.slice(0, 2));
  expect(await redriveMany(db, { ...first, after: ids[1] })).toEqual({ redriven: 2, skipped: 0, next: ids[3] });
  expect(await redriveMany(db, { ...first, after: ids[3] })).toEqual({ redriven: 1, skipped: 0, next: undefined });
});

test('jobs beside a pending one of their key, and all but one of a key, are skipped and stay dead', async ({ db }) => {
  await pendingJob(db, { uniqueKey: 'taken' });
  const [taken, one, other, free] = [
    await deadJob(db, { uniqueKey: 'taken' }),
    await deadJob(db, { uniqueKey: 'twice' }),
    await deadJob(db, { uniqueKey: 'twice' }),
    await deadJob(db),
  ];
  expect(await redriveAll(db)).toMatchObject({ redriven: 2, skipped: 2 });
  const states = await Promise.all([taken, one, other, free].map(({ id }) => statusOf(db, id)));
  expect(states).toEqual(['dead', 'pending', 'dead', 'pending']);
});

test('a key that somebody’s open transaction holds costs one job, not the page', async ({ db, databaseUrl }) => {
  const jobs = [await deadJob(db), await deadJob(db, { uniqueKey: 'held' }), await deadJob(db)];
  await withSessions(databaseUrl, async (producer) => {
    await producer.begin();
    await pendingJob(producer, { uniqueKey: 'held' });
    const by = operator();
    expect(await redriveMany(db, { filter: everything, limit: 10 }, by)).toEqual({
      redriven: 2,
      skipped: 1,
      next: undefined,
    });
    expect(await statusOf(db, (jobs[1] as { id: string }).id)).toBe('dead');
    expect((await logged(db)).map(({ count }) => count)).toEqual([1, 1]);
    await producer.rollback();
  });
});

test('a page that went row by row and was interrupted is taken up again by its resend: nothing twice, nothing left out', async ({
  db,
  databaseUrl,
}) => {
  const [first, held, last] = [await deadJob(db), await deadJob(db, { uniqueKey: 'held' }), await deadJob(db)];
  const by = operator();
  await withSessions(databaseUrl, async (producer) => {
    await producer.begin();
    await pendingJob(producer, { uniqueKey: 'held' });
    const victim = await openClient(databaseUrl);
    // Whether it was done before, what fits, all at once, the first alone.
    let left = 4;
    const dying: Db = {
      query: async (text, values) => {
        if (left-- === 0) await victim.end();
        return victim.query(text, values);
      },
    };
    await expect(redriveMany(dying, { filter: everything, limit: 10 }, by)).rejects.toThrow('not queryable');
    await producer.rollback();
  });
  expect(await pendingIds(db)).toEqual([first.id]);
  // It has run since, and is dead again.
  await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [first.id]);
  await db.query('DELETE FROM millrace.payloads WHERE id = $1', [first.id]);
  await deadJob(db, { id: first.id });
  expect(await redriveMany(db, { filter: everything, limit: 10 }, by)).toMatchObject({ redriven: 2, skipped: 1 });
  expect(await pendingIds(db)).toEqual([held.id, last.id].toSorted());
  expect(await redriveMany(db, { filter: everything, limit: 10 }, operator())).toMatchObject({ redriven: 1 });
});

test('the log keeps the filter and the count of each page', async ({ db }) => {
  for (let n = 0; n < 3; n++) await deadJob(db);
  const by = operator();
  const filter = { kind: 'test.kind', error: 'BOOM', deadAfter: '2020-01-01T00:00:00Z' };
  const { next } = await redriveMany(db, { filter, limit: 2 }, by);
  await redriveMany(db, { filter, limit: 2, after: next }, by);
  const target = { kind: 'test.kind', error: 'BOOM', dead_after: '2020-01-01T00:00:00Z', limit: 2 };
  const entry = { actor: 'ada', action: 'redrive', requestId: by.requestId };
  expect(await logged(db)).toEqual([
    { ...entry, target: { ...target, tried: 2, next }, count: 2 },
    { ...entry, target: { ...target, after: next, tried: 1, next: null }, count: 1 },
  ]);
});

test('a resend of a page is answered as the first time; the next page under the same id is another', async ({ db }) => {
  await pendingJob(db, { uniqueKey: 'taken' });
  await deadJob(db, { uniqueKey: 'taken' });
  for (let n = 0; n < 5; n++) await deadJob(db);
  const by = operator();
  const page = { filter: everything, limit: 3 };
  const first = await redriveMany(db, page, by);
  expect(first).toMatchObject({ redriven: 2, skipped: 1, next: expect.any(String) });
  expect(await redriveMany(db, page, by)).toEqual(first);
  expect(await counterOf(db, 'test.kind', 'redriven')).toBe(2);
  expect(await redriveMany(db, { ...page, after: first.next }, by)).toEqual({
    redriven: 3,
    skipped: 0,
    next: undefined,
  });
});

test('a resend that overtakes its first try redrives nothing beside it, and is answered as that one', async ({
  db,
}) => {
  for (let n = 0; n < 5; n++) await deadJob(db);
  const by = operator();
  const page = { filter: everything, limit: 2 };
  let first: unknown;
  const overtaken: Db = {
    query: async (text, values) => {
      const answer = await db.query(text, values);
      // It was not done before, and is by now.
      first ??= await redriveMany(db, page, by);
      return answer as never;
    },
  };
  const second = await redriveMany(overtaken, page, by);
  expect(first).toMatchObject({ redriven: 2, skipped: 0 });
  expect(second).toEqual(first);
  expect(await counterOf(db, 'test.kind', 'redriven')).toBe(2);
  expect((await logged(db)).map(({ count }) => count)).toEqual([2]);
});

test('a limit out of bounds is refused', async ({ db }) => {
  for (const limit of [0, 1001, 1.5]) {
    await expect(redriveMany(db, { filter: everything, limit })).rejects.toThrow(RangeError);
  }
});

describe('50,000 dead jobs', () => {
  async function manyDead(db: Db, rows: number): Promise<void> {
    await db.query(
      `WITH job AS MATERIALIZED (SELECT millrace.uuidv7() AS id, n FROM generate_series(1, $1::int) n),
            payload AS (INSERT INTO millrace.payloads SELECT id, '{}' FROM job)
       INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at,
                                       payload_bytes, errors, payload)
       SELECT id, CASE WHEN n % 10 = 0 THEN 'rare.kind' ELSE 'test.kind' END, 'default', 0, 5, 5, 0, now(), now(), 2,
              jsonb_build_array(jsonb_build_object('attempt', 5, 'name', 'Error', 'message', 'boom ' || n)), '{}'
       FROM job`,
      [rows],
    );
  }

  test('interrupted and taken up again, each is redriven once', async ({ db, databaseUrl }) => {
    await manyDead(db, 50_000);
    let next: JobId | undefined;
    for (let page = 0; page < 10; page++)
      ({ next } = await redriveMany(db, { filter: everything, limit: 1000, after: next }));
    // The connection dies under the next page, before it is decided.
    const victim = await openClient(databaseUrl);
    await victim.query('BEGIN');
    const { rows: backend } = await victim.query('SELECT pg_backend_pid() AS pid');
    await redriveMany(victim, { filter: everything, limit: 1000, after: next });
    await db.query('SELECT pg_terminate_backend($1)', [backend[0].pid]);
    await victim.end().catch(() => {});
    expect(await counterOf(db, 'test.kind', 'redriven')).toBe(9_000);
    // Meanwhile some of those that went back have died again: they lie behind, and are left alone.
    const { rows } = await db.query<{ id: string }>(
      `WITH gone AS (
         DELETE FROM millrace.live_jobs
         WHERE id = ANY (ARRAY(SELECT id FROM millrace.live_jobs WHERE kind = 'test.kind' ORDER BY id LIMIT 5))
         RETURNING *
       )
       INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at,
                                       payload_bytes, payload)
       SELECT id, kind, queue, priority, 5, 5, 0, run_at, created_at, 2, '{}' FROM gone
       RETURNING id`,
    );
    expect(await redriveAll(db, { after: next })).toEqual({ redriven: 40_000, skipped: 0, pages: 40 });
    expect(await counterOf(db, 'test.kind', 'redriven')).toBe(45_000);
    expect(await counterOf(db, 'rare.kind', 'redriven')).toBe(5_000);
    const { rows: dead } = await db.query<{ id: string }>('SELECT id FROM millrace.dead_jobs');
    expect(dead.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
  });

  test('a page looks at no more than 5,000, however few fit', async ({ db }) => {
    await manyDead(db, 20_000);
    const none = await redriveMany(db, { filter: { error: 'nobody said this' }, limit: 1000 });
    expect(none).toEqual({ redriven: 0, skipped: 0, next: expect.any(String) });
    const { rows } = await db.query('SELECT count(*)::int AS n FROM millrace.dead_jobs WHERE id <= $1', [none.next]);
    expect(rows).toEqual([{ n: 5000 }]);
    expect(await redriveAll(db, { filter: { error: 'boom 19999' } })).toEqual({ redriven: 1, skipped: 0, pages: 5 });
    // By kind it looks at that kind alone.
    expect(await redriveAll(db, { filter: { kind: 'rare.kind', error: 'boom 2000' } })).toMatchObject({
      redriven: 2,
      pages: 1,
    });
  });
});
