import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { complete } from '../../functions/queue/complete.ts';
import type { Db } from '../../functions/queue/db.ts';
import { type Enqueued, insertJob, insertJobs } from '../../functions/queue/enqueue.ts';
import { IdempotencyKeyReusedError } from '../../functions/queue/errors.ts';
import type { JobId } from '../../functions/queue/job.ts';
import { counterOf, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, openPool, test } from '../support/fixtures.ts';
import { inTurn, waitsForLock, withSessions } from './sessions.ts';

const keyed = { kind: 'test.kind', payload: { n: 1, text: 'a' }, idempotencyKey: 'order-7' };
const replayed = (id: string | undefined, pruned = false) => ({ id, outcome: 'replayed', pruned });

async function jobs(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>('SELECT count(*)::int AS n FROM millrace.jobs');
  return (rows[0] as { n: number }).n;
}

/** As a worker would have it. */
async function running(db: Db, id: JobId): Promise<{ id: JobId; token: string }> {
  const token = randomUUID();
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = 1, locked_by = $2, locked_until = now() + interval '1 minute'
     WHERE id = $1`,
    [id, token],
  );
  return { id, token };
}

describe('the same key, kind and payload again', () => {
  test('is the first job, whatever else the second asks for', async ({ db }) => {
    const first = await insertJob(db, keyed);
    expect(first).toMatchObject({ outcome: 'created', pruned: false });
    const again = await insertJob(db, { ...keyed, priority: 5, delaySeconds: 60, queue: 'other', subject: 's' });
    expect(again).toEqual(replayed(first.id));
    expect(await rowOf(db, first.id)).toMatchObject({ idempotency_key: 'order-7', priority: 0, queue: 'default' });
    expect(await jobs(db)).toBe(1);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });

  test('payloads are compared as values: neither white space nor the order of keys counts', async ({ db }) => {
    const first = await insertJob(db, keyed);
    expect(await insertJob(db, { ...keyed, payload: { text: 'a', n: 1 } })).toEqual(replayed(first.id));
  });

  test('is the first job while it runs, and once it is completed or dead', async ({ db }) => {
    for (const end of ['processing', 'completed', 'dead']) {
      const job = { ...keyed, idempotencyKey: end };
      const first = await insertJob(db, job);
      const claim = await running(db, first.id);
      if (end === 'completed') await complete(db, [{ ...claim, result: 1 }]);
      if (end === 'dead') await bury(db, [{ ...claim, error: { attempt: 1, name: 'Error', message: 'boom' } }]);
      expect(await statusOf(db, first.id)).toBe(end);
      expect(await insertJob(db, job)).toEqual(replayed(first.id));
    }
    expect(await jobs(db)).toBe(3);
  });

  test('is told that the record of the job is gone', async ({ db }) => {
    const first = await insertJob(db, keyed);
    await complete(db, [{ ...(await running(db, first.id)), result: 1 }]);
    await db.query('DELETE FROM millrace.finished_jobs');
    await db.query('DELETE FROM millrace.payloads');
    expect(await insertJob(db, keyed)).toEqual(replayed(first.id, true));
    expect(await insertJobs(db, [keyed, keyed])).toEqual([replayed(first.id, true), replayed(first.id, true)]);
    expect(await jobs(db)).toBe(0);
  });

  test('an erased job has no payload to compare with: any is a replay', async ({ db }) => {
    const first = await insertJob(db, keyed);
    await db.query('UPDATE millrace.idempotency_keys SET fingerprint = NULL');
    expect(await insertJob(db, { ...keyed, payload: 'other' })).toEqual(replayed(first.id));
  });

  test('is a job of its own where the kind is another', async ({ db }) => {
    await insertJob(db, keyed);
    expect(await insertJob(db, { ...keyed, kind: 'other.kind' })).toMatchObject({ outcome: 'created' });
    expect(await jobs(db)).toBe(2);
  });

  test('SQL answers the same id', async ({ db }) => {
    const put = `SELECT millrace.enqueue('test.kind', '{"n": 1}', idempotency_key => 'k') AS id`;
    const first = await db.query(put);
    expect((await db.query(put)).rows).toEqual(first.rows);
    expect(await jobs(db)).toBe(1);
  });
});

describe('another payload', () => {
  test('is refused by name, and changes nothing', async ({ db }) => {
    await insertJob(db, keyed);
    const other = insertJob(db, { ...keyed, payload: { n: 2 } });
    await expect(other).rejects.toThrow(IdempotencyKeyReusedError);
    await expect(other).rejects.toMatchObject({
      code: 'idempotency_key_reused',
      index: 0,
      message: 'idempotency key "order-7" of kind "test.kind" stands for a job with another payload',
    });
    expect(await jobs(db)).toBe(1);
  });

  test('in a batch names each item, and nothing of the batch is stored', async ({ db }) => {
    await insertJobs(db, [keyed, { ...keyed, idempotencyKey: 'second' }]);
    const batch = insertJobs(db, [
      { ...keyed, idempotencyKey: 'new' },
      { ...keyed, payload: 1 },
      keyed,
      { ...keyed, idempotencyKey: 'second', payload: 1 },
    ]);
    await expect(batch).rejects.toMatchObject({ index: 1, indexes: [1, 3] });
    expect(await jobs(db)).toBe(2);
    expect((await db.query('SELECT FROM millrace.idempotency_keys')).rowCount).toBe(2);
  });

  test('is SQLSTATE MR001 in SQL, with the item in DETAIL', async ({ db }) => {
    await insertJob(db, keyed);
    const sql = db.query(`SELECT millrace.enqueue('test.kind', '{}', idempotency_key => 'order-7')`);
    await expect(sql).rejects.toMatchObject({ code: 'MR001', detail: 'index=0' });
  });
});

describe('one key twice in a batch', () => {
  test('is one job, which stands for both', async ({ db }) => {
    const made = await insertJobs(db, [keyed, { ...keyed, idempotencyKey: 'other' }, keyed]);
    expect(made).toEqual([
      { id: made[0]?.id, outcome: 'created', pruned: false },
      { id: made[1]?.id, outcome: 'created', pruned: false },
      replayed(made[0]?.id),
    ]);
    expect(await jobs(db)).toBe(2);
  });

  test('with two payloads is refused, the second is at fault', async ({ db }) => {
    await expect(insertJobs(db, [keyed, { ...keyed, payload: 2 }])).rejects.toMatchObject({ indexes: [1] });
    expect(await jobs(db)).toBe(0);
  });
});

describe('sent again with its own id', () => {
  test('is what the first call answered, not a replay', async ({ db }) => {
    const job = { ...keyed, id: randomUUID() };
    const created = { id: job.id, outcome: 'created', pruned: false };
    expect([await insertJob(db, job), await insertJob(db, job)]).toEqual([created, created]);
    const batch = [job, { ...keyed, id: randomUUID(), idempotencyKey: 'b' }];
    expect(await insertJobs(db, batch)).toEqual(await insertJobs(db, batch));
    expect(await jobs(db)).toBe(2);
  });

  test('makes no second job once nothing is left of the first but the key', async ({ db }) => {
    const job = { ...keyed, id: randomUUID() };
    await insertJob(db, job);
    await db.query('DELETE FROM millrace.live_jobs');
    await db.query('DELETE FROM millrace.payloads');
    expect(await insertJob(db, job)).toEqual({ id: job.id, outcome: 'created', pruned: true });
    expect(await jobs(db)).toBe(0);
  });
});

describe('at once', () => {
  test('50 callers make one job, 49 replays and no error, 100 times over', { timeout: 120_000 }, async ({
    db,
    databaseUrl,
  }) => {
    const callers = openPool(databaseUrl, 50);
    await Promise.all(Array.from({ length: 50 }, () => callers.query('SELECT pg_sleep(0.05)')));
    for (let round = 0; round < 100; round++) {
      const job = { ...keyed, idempotencyKey: `round-${round}` };
      const answers = await Promise.all(Array.from({ length: 50 }, () => insertJob(callers, job)));
      const created = answers.filter(({ outcome }) => outcome === 'created') as [Enqueued, ...Enqueued[]];
      expect(created).toHaveLength(1);
      expect(answers.filter(({ outcome }) => outcome === 'replayed')).toEqual(Array(49).fill(replayed(created[0].id)));
    }
    await callers.end();
    expect(await jobs(db)).toBe(100);
  });

  test('who comes second waits for the first to commit, and is a replay', async ({ databaseUrl }) => {
    const send = (session: Db) => insertJob(session, keyed);
    const [first, second] = await inTurn(databaseUrl, send, send);
    expect([first.outcome, second]).toEqual(['created', replayed(first.id)]);
  });

  test('who waits for one that rolls back makes the job', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      const lost = await insertJob(first, keyed);
      const sent = insertJob(second, { ...keyed, payload: 'second' });
      await waitsForLock(db, second);
      await first.rollback();
      const made = await sent;
      expect(made).toMatchObject({ outcome: 'created' });
      expect(made.id).not.toBe(lost.id);
    });
    expect(await jobs(db)).toBe(1);
  });

  test('patience ends with SQLSTATE 55P03, and the connection keeps its own', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      const { id } = await insertJob(first, keyed);
      const sent = insertJob(second, keyed, { lockTimeoutMs: 50 });
      await expect(sent).rejects.toMatchObject({ code: '55P03' });
      expect((await second.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: '0' }]);
      await first.commit();
      expect(await insertJob(second, keyed, { lockTimeoutMs: 50 })).toEqual(replayed(id));
    });
    expect(await jobs(db)).toBe(1);
  });

  test('a key that is deleted between the two looks at it is taken anew', async ({ own: { pool } }) => {
    const first = await insertJob(pool, keyed);
    // Deletes it after the statement that met it, as a prune might.
    await pool.query(`
      CREATE FUNCTION prune_once() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        DELETE FROM millrace.idempotency_keys WHERE job_id = '${first.id}';
        RETURN NULL;
      END
      $$;
      CREATE TRIGGER prune_once AFTER INSERT ON millrace.idempotency_keys EXECUTE FUNCTION prune_once()`);
    const second = await insertJob(pool, keyed);
    expect(second).toMatchObject({ outcome: 'created' });
    expect(second.id).not.toBe(first.id);
    const { rows } = await pool.query('SELECT job_id FROM millrace.idempotency_keys');
    expect(rows).toEqual([{ job_id: second.id }]);
  });

  test('batches with the same keys in other orders do not wait for each other in a circle', async ({
    db,
    databaseUrl,
  }) => {
    const callers = openPool(databaseUrl, 4);
    const rounds = 30;
    for (let round = 0; round < rounds; round++) {
      const batch = Array.from({ length: 200 }, (_, n) => ({ ...keyed, idempotencyKey: `${round}-${n}` }));
      const answers = await Promise.all([
        insertJobs(callers, batch),
        insertJobs(callers, batch.toReversed()).then((answer) => answer.toReversed()),
        insertJobs(callers, [...batch.slice(100), ...batch.slice(0, 100)]).then((answer) => [
          ...answer.slice(100),
          ...answer.slice(0, 100),
        ]),
      ]);
      const ids = answers.map((answer) => answer.map(({ id }) => id));
      expect(ids[1]).toEqual(ids[0]);
      expect(ids[2]).toEqual(ids[0]);
    }
    await callers.end();
    expect(await jobs(db)).toBe(rounds * 200);
  });
});

describe.for(['REPEATABLE READ', 'SERIALIZABLE'])('in a %s transaction', (level) => {
  test('a key that came after its snapshot is a serialization failure, one from before a replay', async ({
    databaseUrl,
  }) => {
    await withSessions(databaseUrl, async (first, second) => {
      const before = await insertJob(first, { ...keyed, idempotencyKey: 'before' });
      await second.query(`BEGIN ISOLATION LEVEL ${level}`);
      expect(await insertJob(second, { ...keyed, idempotencyKey: 'before' })).toEqual(replayed(before.id));
      await insertJob(first, keyed);
      await expect(insertJob(second, keyed)).rejects.toMatchObject({ code: '40001' });
      await second.rollback();
    });
  });

  test('a key that was deleted after its snapshot is free', async ({ db, databaseUrl }) => {
    const old = await insertJob(db, keyed);
    await withSessions(databaseUrl, async (session) => {
      await session.query(`BEGIN ISOLATION LEVEL ${level}`);
      await session.query('SELECT FROM millrace.idempotency_keys');
      await db.query('DELETE FROM millrace.idempotency_keys');
      const made = await insertJob(session, keyed);
      expect(made).toMatchObject({ outcome: 'created' });
      expect(made.id).not.toBe(old.id);
      await session.commit();
      expect(await insertJob(db, keyed)).toEqual(replayed(made.id));
    });
  });
});
