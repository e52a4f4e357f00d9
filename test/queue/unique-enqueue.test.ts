import { randomUUID } from 'node:crypto';
import { claimSuspect } from '../../functions/queue/claim-suspect.ts';
import { complete } from '../../functions/queue/complete.ts';
import type { Db } from '../../functions/queue/db.ts';
import { type Enqueued, insertJob, insertJobs } from '../../functions/queue/enqueue.ts';
import { counterOf, deadJob, finishedJob, liveRowOf, pendingJob, processingJob, rowOf } from '../support/factories.ts';
import { describe, expect, openPool, test } from '../support/fixtures.ts';
import { claimedIds, claimSome, KINDS } from './claiming.ts';
import { inTurn, waitsForLock, withSessions } from './sessions.ts';

const job = { kind: 'test.kind', payload: { n: 1 }, uniqueKey: 'customer:7' };
const kept = (id: string | undefined) => ({ id, outcome: 'kept', pruned: false });
const replaced = (id: string | undefined) => ({ id, outcome: 'replaced', pruned: false });

async function statuses(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ status: string }>('SELECT status FROM millrace.jobs ORDER BY status');
  return rows.map(({ status }) => status);
}

/** As a claim would leave it. */
async function start(db: Db, id: string): Promise<string> {
  const token = randomUUID();
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = 1, locked_by = $2, locked_until = now() + interval '1 minute'
     WHERE id = $1`,
    [id, token],
  );
  return token;
}

describe('one pending job for a kind and key', () => {
  test('stands for all that come after it, and stays as it is', async ({ db }) => {
    const first = await insertJob(db, { ...job, delaySeconds: 3600 });
    expect(first).toMatchObject({ outcome: 'created' });
    const before = await liveRowOf(db, first.id);
    expect(await insertJob(db, { ...job, payload: 'other', priority: 5 })).toEqual(kept(first.id));
    expect(await liveRowOf(db, first.id)).toEqual(before);
    expect(await rowOf(db, first.id)).toMatchObject({ payload: { n: 1 }, unique_key: 'customer:7' });
    expect((await db.query('SELECT FROM millrace.payloads')).rowCount).toBe(1);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });

  test('other kinds, other keys and jobs without one are not concerned', async ({ db }) => {
    const { uniqueKey: _, ...free } = job;
    await insertJobs(db, [job, { ...job, kind: 'other.kind' }, { ...job, uniqueKey: 'customer:8' }, free, free]);
    expect(await statuses(db)).toEqual(Array(5).fill('pending'));
  });

  test('one that waits for its next attempt is pending, too', async ({ db }) => {
    const waiting = await pendingJob(db, { uniqueKey: 'customer:7', attempts: 3, dueInSeconds: 3600 });
    expect(await insertJob(db, job)).toEqual(kept(waiting.id));
  });

  test('one that runs does not count: what changed meanwhile gets a run of its own, and one only', async ({ db }) => {
    await processingJob(db, { uniqueKey: 'customer:7' });
    const next = await insertJob(db, job);
    expect(next).toMatchObject({ outcome: 'created' });
    expect(await insertJob(db, job)).toEqual(kept(next.id));
    expect(await statuses(db)).toEqual(['pending', 'processing']);
  });

  test('nor do those that have ended', async ({ db }) => {
    await finishedJob(db, { uniqueKey: 'customer:7' });
    await finishedJob(db, { uniqueKey: 'customer:7', status: 'cancelled' });
    await deadJob(db, { uniqueKey: 'customer:7' });
    expect(await insertJob(db, { ...job, uniqueWhile: 'live' })).toMatchObject({ outcome: 'created' });
  });

  test('SQL answers its id', async ({ db }) => {
    const put = `SELECT millrace.enqueue('test.kind', '{}', unique_key => 'k') AS id`;
    const first = await db.query(put);
    expect((await db.query(put)).rows).toEqual(first.rows);
  });

  test.for([
    [`unique_key => 'k', unique_while => 'dead'`, 'unique_while must be pending or live'],
    [`unique_key => 'k', replace => '{kind}'`, 'replace takes payload and run_at'],
    [`replace => '{payload}'`, 'unique_while and replace need a unique_key'],
    [`unique_while => 'live'`, 'unique_while and replace need a unique_key'],
  ])('SQL refuses %s', async ([args, message], { db }) => {
    await expect(db.query(`SELECT millrace.enqueue('test.kind', '{}', ${args})`)).rejects.toMatchObject({
      code: '22023',
      message,
    });
  });
});

describe("unique_while: 'live'", () => {
  const live = { ...job, uniqueWhile: 'live' } as const;

  test('a job that runs stands for the new one, until it has ended', async ({ db }) => {
    const first = await insertJob(db, live);
    const token = await start(db, first.id);
    expect(await insertJob(db, live)).toEqual(kept(first.id));
    expect(await statuses(db)).toEqual(['processing']);
    await complete(db, [{ id: first.id, token, result: 1 }]);
    expect(await insertJob(db, live)).toMatchObject({ outcome: 'created' });
  });

  test('a pending one comes first, where both are there', async ({ db }) => {
    await processingJob(db, { uniqueKey: 'customer:7' });
    const next = await insertJob(db, job);
    expect(await insertJob(db, live)).toEqual(kept(next.id));
  });

  test('nothing of a running one is replaced', async ({ db }) => {
    const first = await processingJob(db, { uniqueKey: 'customer:7', payload: 'old' });
    expect(await insertJob(db, { ...live, payload: 'new', replace: ['payload', 'run_at'] })).toEqual(kept(first.id));
    expect(await rowOf(db, first.id)).toMatchObject({ payload: 'old' });
  });

  test('one that was put in and started while this waited for it is found, and nothing is left of this', async ({
    db,
    databaseUrl,
  }) => {
    const [first, second] = await inTurn(
      databaseUrl,
      async (session) => {
        const made = await insertJob(session, job);
        await start(session, made.id);
        return made;
      },
      (session) => insertJob(session, live),
    );
    expect(second).toEqual(kept(first.id));
    expect(await statuses(db)).toEqual(['processing']);
    expect((await db.query('SELECT FROM millrace.payloads')).rowCount).toBe(1);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });
});

describe('replace', () => {
  test('the pending job takes over the payload', async ({ db }) => {
    const first = await insertJob(db, { ...job, delaySeconds: 3600 });
    const { run_at } = (await rowOf(db, first.id)) ?? {};
    const payload = { text: 'ä€', list: [1, 2, 3] };
    expect(await insertJob(db, { ...job, payload, replace: ['payload'] })).toEqual(replaced(first.id));
    expect(await rowOf(db, first.id)).toMatchObject({ payload, run_at });
    const { rows } = await db.query(
      `SELECT l.payload_bytes = octet_length(p.payload::text) AS same
       FROM millrace.live_jobs l JOIN millrace.payloads p ON p.id = l.id`,
    );
    expect(rows).toEqual([{ same: true }]);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });

  test('the pending job takes over the run time, which may be later or earlier but never in the past', async ({
    db,
  }) => {
    const first = await insertJob(db, job);
    const replace = ['run_at'] as const;
    const ahead = async () =>
      (
        await db.query<{ s: number }>(
          'SELECT round(extract(epoch FROM run_at - clock_timestamp()))::int AS s FROM millrace.live_jobs',
        )
      ).rows[0]?.s;
    expect(await insertJob(db, { ...job, payload: 'x', delaySeconds: 600, replace })).toEqual(replaced(first.id));
    expect(await ahead()).toBeGreaterThan(590);
    const { rows } = await db.query<{ before: string }>('SELECT clock_timestamp()::text AS before');
    await insertJob(db, { ...job, runAt: '2020-01-01T00:00:00Z', replace });
    const { rows: after } = await db.query('SELECT run_at >= $1::timestamptz AS ok FROM millrace.live_jobs', [
      rows[0]?.before,
    ]);
    expect(after).toEqual([{ ok: true }]);
    expect(await ahead()).toBeLessThanOrEqual(0);
    expect(await rowOf(db, first.id)).toMatchObject({ payload: { n: 1 } });
  });

  test('a payload that is too large leaves the job as it was', async ({ db }) => {
    const first = await insertJob(db, job);
    const large = insertJob(db, { ...job, payload: Array(15_000).fill(1e308), replace: ['payload'] });
    await expect(large).rejects.toMatchObject({ code: '23514' });
    expect(await rowOf(db, first.id)).toMatchObject({ payload: { n: 1 } });
  });

  test('is undone by a rollback', async ({ db, databaseUrl }) => {
    const first = await insertJob(db, job);
    await withSessions(databaseUrl, async (session) => {
      await session.begin();
      await insertJob(session, { ...job, payload: 'lost', replace: ['payload'] });
      await session.rollback();
    });
    expect(await rowOf(db, first.id)).toMatchObject({ payload: { n: 1 } });
  });

  test('two transactions that share the job may both change it: the second waits, and neither dies', async ({
    db,
    databaseUrl,
  }) => {
    const { id } = await insertJob(db, job);
    const change = (session: Db, payload: string) => insertJob(session, { ...job, payload, replace: ['payload'] });
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      await second.begin();
      expect(await Promise.all([insertJob(first, job), insertJob(second, job)])).toEqual([kept(id), kept(id)]);
      expect(await change(first, 'first')).toEqual(replaced(id));
      const changed = change(second, 'second');
      await waitsForLock(db, second);
      await first.commit();
      expect(await changed).toEqual(replaced(id));
      await second.commit();
    });
    expect(await rowOf(db, id)).toMatchObject({ payload: 'second' });
  });

  test('who has changed the run time and then the payload is not waited for in a circle', async ({
    db,
    databaseUrl,
  }) => {
    const { id } = await insertJob(db, job);
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      await insertJob(first, { ...job, replace: ['run_at'] });
      const changed = insertJob(second, { ...job, payload: 'second', replace: ['payload'] });
      await waitsForLock(db, second);
      await insertJob(first, { ...job, payload: 'first', replace: ['payload'] });
      await first.commit();
      expect(await changed).toEqual(replaced(id));
    });
    expect(await rowOf(db, id)).toMatchObject({ payload: 'second' });
  });
});

describe('with claims at work', () => {
  test.for([[[]], [['payload']]] as const)(
    'nobody starts the job that stands for an uncommitted enqueue (replace: %j), and it is started after the commit',
    async ([replace], { db, databaseUrl }) => {
      const { id } = await insertJob(db, job);
      await withSessions(databaseUrl, async (session) => {
        await session.begin();
        const again = await insertJob(session, { ...job, payload: 'new', replace });
        expect(again).toEqual(replace.length > 0 ? replaced(id) : kept(id));
        expect(await claimedIds(db)).toEqual([]);
        await session.commit();
      });
      const { jobs } = await claimSome(db);
      expect(jobs).toMatchObject([{ id, payload: replace.length > 0 ? 'new' : { n: 1 } }]);
    },
  );

  test('nor as a suspect', async ({ db, databaseUrl }) => {
    const { id } = await pendingJob(db, { uniqueKey: 'customer:7', reaps: 2 });
    const suspect = () => claimSuspect(db, { token: randomUUID(), queue: 'default', kinds: KINDS });
    await withSessions(databaseUrl, async (session) => {
      await session.begin();
      expect(await insertJob(session, job)).toEqual(kept(id));
      expect(await suspect()).toBeUndefined();
      await session.commit();
    });
    expect(await suspect()).toMatchObject({ id });
  });

  test('an enqueue waits for the claim in progress: it gets a run of its own if that commits', async ({
    db,
    databaseUrl,
  }) => {
    await insertJob(db, job);
    const [claimed, made] = await inTurn(
      databaseUrl,
      (session) => claimedIds(session),
      (session) => insertJob(session, job),
    );
    expect(claimed).toHaveLength(1);
    expect(made).toMatchObject({ outcome: 'created' });
    expect(await statuses(db)).toEqual(['pending', 'processing']);
  });

  test.for([
    ['taken', [], (session: Db) => claimSome(session)],
    ['taken', ['payload'], (session: Db) => claimSome(session)],
    ['locked', [], (session: Db) => session.query('SELECT FROM millrace.live_jobs FOR UPDATE')],
    ['locked', ['payload'], (session: Db) => session.query('SELECT FROM millrace.live_jobs FOR UPDATE')],
  ] as const)(
    'one that waited for a claim that has %s the job does not hold it then, for its run may be over first (replace: %j)',
    async ([, replace, begins], { db, databaseUrl }) => {
      const { id } = await insertJob(db, job);
      await withSessions(databaseUrl, async (worker, producer) => {
        await worker.begin();
        await begins(worker);
        await producer.begin();
        const made = insertJob(producer, { ...job, replace });
        await waitsForLock(db, producer);
        await claimSome(worker);
        await worker.commit();
        expect(await made).toMatchObject({ outcome: 'created' });
        const { locked_by: token } = (await liveRowOf(db, id)) as { locked_by: string };
        // Rejects if somebody holds the row.
        expect(await complete(db, [{ id, token, result: 1 }], '1ms')).toEqual([id]);
        await producer.commit();
      });
      expect(await statuses(db)).toEqual(['completed', 'pending']);
    },
  );

  test('and stands behind the job if the claim is undone', async ({ db, databaseUrl }) => {
    const { id } = await insertJob(db, job);
    await withSessions(databaseUrl, async (worker, producer) => {
      await worker.begin();
      expect(await claimedIds(worker)).toEqual([id]);
      const again = insertJob(producer, job);
      await waitsForLock(db, producer);
      await worker.rollback();
      expect(await again).toEqual(kept(id));
    });
  });

  test('two at once: the second waits, and is kept behind the first', async ({ db, databaseUrl }) => {
    const send = (session: Db) => insertJob(session, job);
    const [first, second] = await inTurn(databaseUrl, send, send);
    expect([first.outcome, second]).toEqual(['created', kept(first.id)]);
    expect(await statuses(db)).toEqual(['pending']);
  });

  test('the second makes the job if the first rolls back', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      await insertJob(first, job);
      const sent = insertJob(second, job);
      await waitsForLock(db, second);
      await first.rollback();
      expect(await sent).toMatchObject({ outcome: 'created' });
    });
    expect(await statuses(db)).toEqual(['pending']);
  });

  test('one that came and started while this waited does not count, and nothing is left behind', async ({
    db,
    databaseUrl,
  }) => {
    const [first, second] = await inTurn(
      databaseUrl,
      async (session) => {
        const made = await insertJob(session, job);
        await start(session, made.id);
        return made;
      },
      (session) => insertJob(session, job),
    );
    expect(second).toMatchObject({ outcome: 'created' });
    expect(second.id).not.toBe(first.id);
    expect(await statuses(db)).toEqual(['pending', 'processing']);
  });

  test('whatever races, the last change is seen by a run, and never two wait', { timeout: 60_000 }, async ({
    db,
    databaseUrl,
  }) => {
    const CHANGES = 400;
    const callers = openPool(databaseUrl, 10);
    await callers.query('CREATE TABLE IF NOT EXISTS thing (version int NOT NULL)');
    await callers.query('INSERT INTO thing VALUES (0)');
    const outcomes: Enqueued['outcome'][] = [];
    let changing = CHANGES;
    let seen = 0;

    const change = async (n: number) => {
      const client = await callers.connect();
      await client.query('BEGIN');
      await client.query('UPDATE thing SET version = version + 1');
      const { outcome } = await insertJob(client, n % 3 ? job : { ...job, payload: n, replace: ['payload', 'run_at'] });
      await client.query(n % 7 ? 'COMMIT' : 'ROLLBACK');
      client.release();
      if (n % 7) outcomes.push(outcome);
    };
    const producer = async () => {
      while (changing > 0) await change(changing--);
    };
    // Reads only once its claim is committed, as a processor would.
    const worker = async () => {
      for (;;) {
        const isLast = changing <= 0;
        const { jobs, token } = await claimSome(callers);
        for (const { id } of jobs) {
          const { rows } = await callers.query<{ version: number }>('SELECT version FROM thing');
          seen = Math.max(seen, rows[0]?.version ?? 0);
          expect(await complete(callers, [{ id, token, result: null }])).toHaveLength(1);
        }
        if (isLast && jobs.length === 0 && (await statuses(db)).every((status) => status === 'completed')) return;
      }
    };
    const producers = Promise.all([producer(), producer(), producer()]);
    await Promise.all([producers, worker(), producers.then(worker)]);

    const { rows } = await callers.query<{ version: number }>('SELECT version FROM thing');
    expect(seen).toBe(rows[0]?.version);
    const runs = (await statuses(db)).length;
    expect(runs).toBe(outcomes.filter((outcome) => outcome === 'created').length);
    expect(runs).toBeLessThan(outcomes.length);
    await callers.query('DROP TABLE thing');
    await callers.end();
  });
});

describe('in a batch', () => {
  test('items of one key are one job: the first, and what later ones replace in it', async ({ db }) => {
    const made = await insertJobs(db, [
      { ...job, uniqueKey: 'z' },
      { ...job, uniqueKey: 'a' },
      { ...job, uniqueKey: 'z' },
      { ...job, uniqueKey: 'a', payload: 'last', replace: ['payload'] },
      { kind: 'test.kind', payload: 'free' },
    ]);
    expect(made).toEqual([
      { id: made[0]?.id, outcome: 'created', pruned: false },
      { id: made[1]?.id, outcome: 'created', pruned: false },
      kept(made[0]?.id),
      replaced(made[1]?.id),
      { id: made[4]?.id, outcome: 'created', pruned: false },
    ]);
    expect(await rowOf(db, made[1]?.id as string)).toMatchObject({ payload: 'last' });
    expect(await statuses(db)).toEqual(Array(3).fill('pending'));
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(3);
  });

  test('batches with the same keys in other orders do not wait for each other in a circle', async ({
    db,
    databaseUrl,
  }) => {
    const callers = openPool(databaseUrl, 4);
    for (let round = 0; round < 20; round++) {
      const batch = Array.from({ length: 50 }, (_, n) => ({ ...job, uniqueKey: `${round}-${n}` }));
      const [first, second] = await Promise.all([
        insertJobs(callers, batch),
        insertJobs(callers, batch.toReversed()).then((answer) => answer.toReversed()),
      ]);
      expect(second.map(({ id }) => id)).toEqual(first.map(({ id }) => id));
    }
    await callers.end();
    expect((await statuses(db)).length).toBe(1000);
  });
});

describe('with ids and idempotency keys', () => {
  test('a resend with the same id is what it was, also when another job is pending by now', async ({ db }) => {
    const mine = { ...job, id: randomUUID() };
    await insertJob(db, mine);
    const token = await start(db, mine.id);
    const next = await insertJob(db, job);
    const created = { id: mine.id, outcome: 'created', pruned: false };
    expect(await insertJob(db, mine)).toEqual(created);
    await complete(db, [{ id: mine.id, token, result: 1 }]);
    expect(await insertJobs(db, [mine])).toEqual([created]);
    const dead = await deadJob(db);
    await db.query('DELETE FROM millrace.payloads WHERE id = $1', [dead.id]);
    expect(await insertJob(db, { ...job, id: dead.id })).toMatchObject({ id: dead.id, outcome: 'created' });
    expect(await statuses(db)).toEqual(['completed', 'dead', 'pending']);
    expect(await insertJob(db, job)).toEqual(kept(next.id));
  });

  test('an idempotency key leads to the job that was kept, for good', async ({ db }) => {
    const { id } = await insertJob(db, job);
    const both = { ...job, idempotencyKey: 'i' };
    expect(await insertJob(db, both)).toEqual(kept(id));
    await start(db, id);
    expect(await insertJob(db, both)).toEqual({ id, outcome: 'replayed', pruned: false });
    expect(await statuses(db)).toEqual(['processing']);
  });

  test('a replay replaces nothing', async ({ db }) => {
    const both = { ...job, idempotencyKey: 'i', replace: ['run_at'] } as const;
    const { id } = await insertJob(db, { ...both, delaySeconds: 3600 });
    const before = await liveRowOf(db, id);
    expect(await insertJob(db, both)).toEqual({ id, outcome: 'replayed', pruned: false });
    expect(await liveRowOf(db, id)).toEqual(before);
  });

  test('in one batch: who repeats the idempotency key of one that was kept is led to the same job', async ({ db }) => {
    const { id } = await insertJob(db, job);
    const both = { ...job, idempotencyKey: 'i' };
    expect(await insertJobs(db, [both, both])).toEqual([kept(id), { id, outcome: 'replayed', pruned: false }]);
  });
});

describe.for(['REPEATABLE READ', 'SERIALIZABLE'])('in a %s transaction', (level) => {
  test('a job that came or started after its snapshot is a serialization failure', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (session) => {
      const begin = async () => {
        await session.query(`BEGIN ISOLATION LEVEL ${level}`);
        await session.query('SELECT FROM millrace.live_jobs');
      };
      await begin();
      const { id } = await insertJob(db, job);
      await expect(insertJob(session, job)).rejects.toMatchObject({ code: '40001' });
      await session.rollback();
      await begin();
      expect(await insertJob(session, job)).toEqual(kept(id));
      await session.rollback();
      await begin();
      expect(await claimedIds(db)).toEqual([id]);
      await expect(insertJob(session, job)).rejects.toMatchObject({ code: '40001' });
      await session.rollback();
    });
  });
});
