import { randomUUID } from 'node:crypto';
import type { Claimed } from '../../functions/queue/claim.ts';
import { claim } from '../../functions/queue/claim.ts';
import type { Lane } from '../../functions/queue/claim-first.ts';
import type { Db } from '../../functions/queue/db.ts';
import type { QueueEvent } from '../../functions/queue/events.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { QueueCursor } from '../../functions/queue/queue-cursor.ts';
import { RescanTiming, transacted } from '../../functions/queue/rescan-timing.ts';
import { ConnectionLostError, SteadyConnection } from '../../functions/queue/steady-connection.ts';
import { restAfterNothing, Supply } from '../../functions/queue/supply.ts';
import { until } from '../lifecycle/ground.ts';
import { type Database, openClient } from '../support/database.ts';
import { pendingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { claimAt, KINDS } from './claiming.ts';

const BEHIND = { dueInSeconds: -5 };

/** The marks of a queue whose next rescan is due in a moment. */
async function nearlyDue(db: Db): Promise<void> {
  const before = new QueueCursor('default', KINDS);
  await claimAt(before, db);
  await before.publish(db, 'now');
  await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '29.5 seconds'`);
}

/** Whose last look was long, some time ago. */
function longRescan(): RescanTiming {
  const look = new RescanTiming();
  look.took(100, performance.now() - 10_000);
  return look;
}

function taking(db: Db, limit = 10): { ids: string[]; claim(lane: Lane): Promise<Claimed> } {
  const ids: string[] = [];
  return {
    ids,
    claim: async (lane) => {
      const claimed = await claim(db, { ...lane, token: randomUUID(), limit, kinds: KINDS, maxBytes: 4_000_000 });
      ids.push(...claimed.jobs.map(({ id }) => id));
      return claimed;
    },
  };
}

/** Claims until a look beside them is due. */
async function lookDue(cursor: QueueCursor, db: Db): Promise<void> {
  await expect.poll(() => claimAt(cursor, db).then(() => cursor.stepBeside(KINDS))).toBe('look');
}

/** Makes all slices of a look, without their rests. */
async function lookedThrough(cursor: QueueCursor, db: Db): Promise<void> {
  for (let done = false; !done; ) done = await cursor.lookBeside(db);
}

describe('beside the claims', () => {
  test('a long look finds what lies behind the marks, while claims go on from them', async ({ db }) => {
    await nearlyDue(db);
    const late = await pendingJob(db, BEHIND);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    const fresh = await pendingJob(db);
    await cursor.lookBeside(db);
    expect(cursor.stepBeside(KINDS), 'it rests after a slice').toBeUndefined();
    const meanwhile = await claimAt(cursor, db);
    expect(meanwhile.map(({ id }) => id)).toEqual([fresh.id]);
    await lookedThrough(cursor, db);
    expect(cursor.stepBeside(KINDS)).toBe('claim');
    expect(await claimAt(cursor, db), 'claims do not wait for it').toEqual([]);
    const taken = taking(db);
    await cursor.claimBeside(db, taken.claim);
    expect(taken.ids).toEqual([late.id]);
    expect(await claimAt(cursor, db)).toEqual([]);
    expect(cursor.stepBeside(KINDS)).toBeUndefined();
  });

  test('one that finds nothing leaves the claims where they are, and is the rescan of all', async ({ db }) => {
    await nearlyDue(db);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await lookedThrough(cursor, db);
    expect(cursor.stepBeside(KINDS)).toBeUndefined();
    const behind = await pendingJob(db, BEHIND);
    expect(await claimAt(cursor, db)).toEqual([]);
    expect(await claimAt(new QueueCursor('default', KINDS), db), 'nor does a run that begins then').toEqual([]);
    await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '31 seconds'`);
    expect((await claimAt(new QueueCursor('default', KINDS), db)).map(({ id }) => id)).toEqual([behind.id]);
  });

  test('until it has ended, a run that begins does so where the last one came to', async ({ db }) => {
    await nearlyDue(db);
    const late = await pendingJob(db, BEHIND);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await cursor.lookBeside(db);
    expect(await claimAt(new QueueCursor('default', KINDS), db)).toEqual([]);
    await lookedThrough(cursor, db);
    const taken = taking(db);
    await cursor.claimBeside(db, taken.claim);
    expect(taken.ids).toEqual([late.id]);
  });

  test('two workers look at once, of whom one began: each job is taken once', async ({ db }) => {
    await nearlyDue(db);
    const cursors = [new QueueCursor('default', KINDS, longRescan()), new QueueCursor('default', KINDS, longRescan())];
    for (const cursor of cursors) expect(await claimAt(cursor, db)).toEqual([]);
    const late = [await pendingJob(db, BEHIND), await pendingJob(db, { ...BEHIND, priority: 3 })];
    const ids: string[] = [];
    for (const cursor of cursors) await lookDue(cursor, db);
    for (const cursor of cursors) await lookedThrough(cursor, db);
    for (const cursor of cursors) {
      const taken = taking(db);
      if (cursor.stepBeside(KINDS) === 'claim') await cursor.claimBeside(db, taken.claim);
      ids.push(...taken.ids, ...(await claimAt(cursor, db)).map(({ id }) => id));
    }
    expect(ids.sort()).toEqual(late.map(({ id }) => id).sort());
  });

  test('where more lies than it may bring, the claims go back to it', async ({ db }) => {
    await nearlyDue(db);
    const late = [await pendingJob(db, BEHIND), await pendingJob(db, BEHIND), await pendingJob(db, BEHIND)];
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await lookedThrough(cursor, db);
    const taken = taking(db, 1);
    await cursor.claimBeside(db, taken.claim);
    expect(taken.ids.length).toBe(1);
    const rest = await claimAt(cursor, db);
    expect([...taken.ids, ...rest.map(({ id }) => id)].sort()).toEqual(late.map(({ id }) => id).sort());
  });

  test('where more lies than it may bring, a run that begins then helps', async ({ db }) => {
    await nearlyDue(db);
    await pendingJob(db, BEHIND);
    await pendingJob(db, BEHIND);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await lookedThrough(cursor, db);
    await cursor.claimBeside(db, taking(db, 1).claim);
    expect(await claimAt(new QueueCursor('default', KINDS), db)).toHaveLength(1);
  });

  test('one that ends with its run leaves what the claims have seen since', async ({ db }) => {
    await nearlyDue(db);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await cursor.lookBeside(db);
    await db.query(`UPDATE millrace.claim_marks SET marks = array_fill(now() - interval '1 minute', '{11}')`);
    await claimAt(cursor, db);
    await cursor.publish(db, 'now');
    const { rows } = await db.query('SELECT now() - marks[6] < $1 AS fresh FROM millrace.claim_marks', ['30 seconds']);
    expect(rows).toEqual([{ fresh: true }]);
  });

  test('what it has seen is there for a run that begins then', async ({ db }) => {
    await nearlyDue(db);
    await pendingJob(db, BEHIND);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await lookedThrough(cursor, db);
    await cursor.claimBeside(db, taking(db).claim);
    await pendingJob(db, BEHIND);
    expect(await claimAt(new QueueCursor('default', KINDS), db)).toEqual([]);
  });

  test('a suspect that lies behind is told of by the next claim', async ({ db }) => {
    await nearlyDue(db);
    const cursor = new QueueCursor('default', KINDS, longRescan());
    await lookDue(cursor, db);
    await pendingJob(db, { ...BEHIND, attempts: 2, reaps: 2 });
    await lookedThrough(cursor, db);
    expect(cursor.stepBeside(KINDS)).toBe('claim');
    const taken = taking(db);
    await cursor.claimBeside(db, taken.claim);
    expect(taken.ids).toEqual([]);
    const of = { limit: 10, kinds: KINDS };
    const claimed = await claim(db, {
      ...of,
      ...(await cursor.lane(db, of)),
      token: randomUUID(),
      maxBytes: 4_000_000,
    });
    expect(claimed.suspectDue).toBe(true);
  });
});

/** The claim index is as large as that of a table that many dead rows lie in: long names, and pages that are nearly empty. */
async function fatten({ pool }: Database): Promise<void> {
  await pool.query('ALTER INDEX millrace.live_jobs_claim SET (fillfactor = 10)');
  await pool.query(
    `INSERT INTO millrace.live_jobs (id, kind, queue)
     SELECT millrace.uuidv7(), 'other.kind', repeat('q', 100) FROM generate_series(1, 7000)`,
  );
  await pool.query('REINDEX INDEX millrace.live_jobs_claim');
  const { rows } = await pool.query(`SELECT pg_relation_size('millrace.live_jobs_claim')::int AS bytes`);
  expect(rows[0].bytes).toBeGreaterThan(8 * 1024 * 1024);
}

function connectionTo(url: string): SteadyConnection {
  return new SteadyConnection(
    () => openClient(url),
    () => 10_000,
  );
}

async function suppliedUntil(supply: Supply, db: Db, when: () => boolean, limit = 100): Promise<string[]> {
  const taken: string[] = [];
  await until(async () => {
    await supply.claim(db, { limit, kinds: KINDS }, ({ id }) => taken.push(id));
    return when();
  });
  await until(() => !supply.besides);
  return taken;
}

test.for([
  [100, 10],
  [9, 1],
] as const)(
  'a run looks back over a connection that it borrows, with some of its slots: of %i, %i',
  async ([slots, some], { own }) => {
    await fatten(own);
    await nearlyDue(own.pool);
    const late = await pendingJob(own.pool, BEHIND);
    const other = connectionTo(own.url);
    let lent = 0;
    let back = 0;
    let most = 0;
    const supply = new Supply(
      ['default'],
      KINDS,
      () => {
        most = Math.max(most, supply.reserved);
      },
      () => {
        lent++;
        return { db: other, giveBack: () => back++ };
      },
    );
    const taken = await suppliedUntil(supply, own.pool, () => most > 0 && !supply.besides, slots);
    expect({ taken, most }).toEqual({ taken: [late.id], most: some });
    expect(back).toBe(lent);
    expect(lent, 'the connection is given back after each slice').toBeGreaterThan(10);
    await other.close();
  },
);

test('a look for which there is no connection any more is given up, and made between two claims', async ({ own }) => {
  await fatten(own);
  await nearlyDue(own.pool);
  const late = await pendingJob(own.pool, BEHIND);
  const other = connectionTo(own.url);
  let lent = 0;
  const supply = new Supply(
    ['default'],
    KINDS,
    () => {},
    () => (lent++ === 0 ? { db: other, giveBack: () => {} } : undefined),
  );
  const taken: string[] = [];
  await until(async () => {
    await supply.claim(own.pool, { limit: 10, kinds: KINDS }, ({ id }) => taken.push(id));
    if (lent > 1) {
      await own.pool.query(
        `UPDATE millrace.claim_marks SET rescanned_at = now() - interval '31 seconds' WHERE rescanned_at > now() - interval '29 seconds'`,
      );
    }
    return taken.length > 0;
  });
  expect(taken).toEqual([late.id]);
  await other.close();
});

test('a look that fails is told of, and nothing is lost by it', async ({ own }) => {
  await fatten(own);
  await nearlyDue(own.pool);
  const late = await pendingJob(own.pool, BEHIND);
  const closed = connectionTo(own.url);
  await closed.close();
  const events: QueueEvent[] = [];
  let back = 0;
  const supply = new Supply(
    ['default'],
    KINDS,
    (event) => events.push(event),
    () => ({ db: closed, giveBack: () => back++ }),
  );
  expect(await suppliedUntil(supply, own.pool, () => back > 0)).toEqual([]);
  expect(events).toContainEqual(expect.objectContaining({ name: 'database.failed', during: 'rescan' }));
  expect(await statusOf(own.pool, late.id)).toBe('pending');
});

test('a look whose run has to go before it is answered takes nothing with it', async ({ own }) => {
  const job = await pendingJob(own.pool);
  const connection = connectionTo(own.url);
  const position = await openPosition(own.pool, 'default', KINDS);
  const cut = transacted(connection, async (db) => {
    const claimed = await taking(db).claim({ queue: 'default', aged: 0, position });
    expect(claimed.jobs).toHaveLength(1);
    await connection.close();
    return claimed;
  });
  await expect(cut).rejects.toThrow(ConnectionLostError);
  expect(await rowOf(own.pool, job.id)).toMatchObject({ status: 'pending', attempts: 0 });
});

test('a look that fails leaves its connection without a transaction', async ({ own }) => {
  const connection = connectionTo(own.url);
  await expect(transacted(connection, (db) => db.query('SELECT 1 / 0'))).rejects.toThrow('division by zero');
  const { rows } = await connection.query('SELECT now() = statement_timestamp() AS alone');
  expect(rows).toEqual([{ alone: true }]);
  await connection.close();
});

describe('when a look may begin', () => {
  const at = 1_000_000;

  test('a short one between two claims, at any time', () => {
    const look = new RescanTiming();
    look.took(49, at);
    expect([look.mayBeBetween(at), look.mayBeBeside(at)]).toEqual([true, false]);
  });

  test('a long one beside the claims, after twenty times its own length', () => {
    const look = new RescanTiming();
    look.took(100, at);
    expect([at + 1999, at + 2000].map((now) => look.mayBeBeside(now))).toEqual([false, true]);
    expect(look.mayBeBetween(at + 2000)).toBe(false);
  });

  test('one for which there is no connection comes between two claims in the end', () => {
    const look = new RescanTiming();
    look.took(100, at);
    expect([at + 2000, at + 3000, at + 3001].map((now) => look.mayBeBetween(now))).toEqual([false, false, true]);
  });

  test('one at a time, and after one that failed the next is made, but not at once', () => {
    const look = new RescanTiming();
    look.took(100, at);
    look.begins();
    expect([look.mayBeBeside(at + 2000), look.mayBeBetween(at + 4000)]).toEqual([false, false]);
    look.failed(at + 4000);
    expect([at + 4000, at + 14_000].map((now) => look.mayBeBeside(now))).toEqual([false, true]);
    expect(look.mayBeBetween(at + 14_500), 'it waits for a connection anew').toBe(false);
  });

  test('one that waits for a connection for more than a second is made between two claims', () => {
    const look = new RescanTiming();
    look.took(100, at);
    expect(look.mayBeBeside(at + 2000)).toBe(true);
    look.begins();
    expect([look.mayGoOn(1000), look.mayBeBetween(at + 9000)]).toEqual([true, false]);
    expect([look.mayGoOn(1001), look.mayBeBetween(at + 9000)]).toEqual([false, true]);
  });

  test('one that has ended counts by the time of its statements', () => {
    const look = new RescanTiming();
    look.took(100, at);
    look.begins();
    look.ended(200, at + 10_000);
    expect([at + 13_999, at + 14_000].map((now) => look.mayBeBeside(now))).toEqual([false, true]);
  });

  test('the next one beside the claims is at most a minute later', () => {
    const look = new RescanTiming();
    look.begins();
    look.ended(7000, at);
    expect([at + 59_999, at + 60_000].map((now) => look.mayBeBeside(now))).toEqual([false, true]);
  });
});

test.each([
  [0, 5],
  [5, 5],
  [40, 40],
  [107, 107],
  [Infinity, 107],
])('a queue that brought something %d ms ago and now has nothing is asked again after %d ms', (since, rest) => {
  expect(restAfterNothing(since)).toBe(rest);
});
