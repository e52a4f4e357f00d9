import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { complete } from '../../functions/queue/complete.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { counterOf, deadJob, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { inTurn, waitsForLock, withSessions } from './sessions.ts';

const job = { kind: 'test.kind', payload: { n: 1 } };

describe('insertJob', () => {
  test('a job is pending, due now, with the payload as it was given', async ({ db }) => {
    const payload = { text: 'ä€😀 "quoted" \\u0000 \\', list: [1, null, { deep: true }], price: 1.5 };
    const { id } = await insertJob(db, { kind: 'test.kind', payload });
    expect(await rowOf(db, id)).toMatchObject({
      kind: 'test.kind',
      queue: 'default',
      status: 'pending',
      priority: 0,
      attempts: 0,
      max_attempts: 5,
      locked_by: null,
      subject: null,
      errors: [],
      payload,
    });
    const { rows } = await db.query('SELECT run_at <= now() AS due FROM millrace.live_jobs WHERE id = $1', [id]);
    expect(rows).toEqual([{ due: true }]);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });

  test('every field goes where it belongs', async ({ db }) => {
    const id = randomUUID();
    const fields = {
      priority: -5,
      queue: 'mail',
      subject: 'invoice:7',
      maxAttempts: 2,
      requestId: 'request-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    expect(await insertJob(db, { ...job, id, ...fields })).toEqual({ id, outcome: 'created', pruned: false });
    expect(await rowOf(db, id)).toMatchObject({
      priority: -5,
      queue: 'mail',
      subject: 'invoice:7',
      max_attempts: 2,
      request_id: 'request-1',
      traceparent: fields.traceparent,
      idempotency_key: null,
      unique_key: null,
    });
  });

  test.for([
    [{ queue: 'mail' }, { queue: 'mail' }],
    [{ subject: 'invoice:7' }, { subject: 'invoice:7' }],
    [{ maxAttempts: 1 }, { max_attempts: 1 }],
    [{ priority: 0 }, { priority: 0 }],
    [{ priority: 5 }, { priority: 5 }],
    [{ runAt: '2130-01-31T08:00:00Z' }, { run_at: new Date('2130-01-31T08:00:00Z') }],
    [{ requestId: 'r' }, { request_id: 'r' }],
    [{ traceparent: 't' }, { traceparent: 't' }],
    [{ id: '01a2274d-2495-7000-8000-000000000001' }, { id: '01a2274d-2495-7000-8000-000000000001' }],
  ] as const)('a field goes where it belongs if it is alone: %o', async ([given, stored], { db }) => {
    const usual = {
      queue: 'default',
      subject: null,
      max_attempts: 5,
      priority: 0,
      request_id: null,
      traceparent: null,
    };
    const { id } = await insertJob(db, { ...job, ...given });
    expect(await rowOf(db, id)).toMatchObject({ ...usual, payload: job.payload, ...stored });
  });

  test('a payload that is missing is null', async ({ db }) => {
    const { id } = await insertJob(db, { kind: 'test.kind', payload: undefined });
    expect(await rowOf(db, id)).toMatchObject({ payload: null });
  });

  test('a time in the past counts as now, so that no claim has passed it already', async ({ db }) => {
    const { rows } = await db.query<{ before: string }>('SELECT clock_timestamp()::text AS before');
    const { id } = await insertJob(db, { ...job, runAt: '2020-02-03T04:05:06Z' });
    const { rows: after } = await db.query(
      'SELECT run_at >= $2::timestamptz AS ok FROM millrace.live_jobs WHERE id = $1',
      [id, rows[0]?.before],
    );
    expect(after).toEqual([{ ok: true }]);
  });

  test('a delay counts from the clock of the database', async ({ db }) => {
    const { id } = await insertJob(db, { ...job, delaySeconds: 90.5 });
    const { rows } = await db.query(
      'SELECT round(extract(epoch FROM run_at - created_at), 1)::float8 AS delay FROM millrace.live_jobs WHERE id = $1',
      [id],
    );
    expect(rows).toEqual([{ delay: 90.5 }]);
  });

  test('an id that is sent again changes nothing and answers the same, at any time of the job', async ({ db }) => {
    const completed = await processingJob(db);
    const dead = await processingJob(db);
    const running = await processingJob(db);
    await complete(db, [{ ...completed, result: 1 }]);
    await bury(db, [{ ...dead, error: { attempt: 1, name: 'Error', message: 'boom' } }]);
    for (const { id } of [completed, dead, running]) {
      expect(await insertJob(db, { ...job, id, payload: 'other' })).toMatchObject({ id, outcome: 'created' });
    }
    expect(await statusOf(db, completed.id)).toBe('completed');
    expect(await statusOf(db, dead.id)).toBe('dead');
    expect(await rowOf(db, running.id)).toMatchObject({ status: 'processing', payload: {} });
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(3);
  });

  test('the id of a dead job is taken for as long as it is kept, also when its payload has gone with its day', async ({
    db,
  }) => {
    const dead = await deadJob(db, { payload: { n: 1 } });
    await db.query('DELETE FROM millrace.payloads WHERE id = $1', [dead.id]);
    expect(await insertJob(db, { ...job, id: dead.id, payload: 'other' })).toMatchObject({ id: dead.id });
    expect(await statusOf(db, dead.id)).toBe('dead');
    expect(await redrive(db, dead.id)).toBe('redriven');
    expect(await rowOf(db, dead.id)).toMatchObject({ status: 'pending', payload: { n: 1 } });
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });

  test('the same id twice at once makes one job', async ({ db, databaseUrl }) => {
    const id = randomUUID();
    const send = (session: Parameters<typeof insertJob>[0]) => insertJob(session, { ...job, id });
    expect(await inTurn(databaseUrl, send, send)).toMatchObject([{ id }, { id }]);
    const { rows } = await db.query('SELECT count(*)::int AS jobs FROM millrace.jobs');
    expect(rows).toEqual([{ jobs: 1 }]);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(1);
  });

  test('the same id is put in by the second sender when the first rolls back', async ({ db, databaseUrl }) => {
    const id = randomUUID();
    await withSessions(databaseUrl, async (first, second) => {
      await first.begin();
      await insertJob(first, { ...job, id });
      const sent = insertJob(second, { ...job, id, payload: 'second' });
      await waitsForLock(db, second);
      await first.rollback();
      expect(await sent).toMatchObject({ id });
    });
    expect(await rowOf(db, id)).toMatchObject({ status: 'pending', payload: 'second' });
  });

  test.for([
    ['a kind with a space', { kind: 'not a kind' }],
    ['an empty queue', { queue: '' }],
    ['a priority above 5', { priority: 6 }],
    ['no attempts', { maxAttempts: 0 }],
    ['an empty subject', { subject: '' }],
    ['a subject of 256 characters', { subject: 'x'.repeat(256) }],
    ['a time without end', { runAt: 'infinity' }],
    ['a payload of more than 4 MiB', { payload: 'x'.repeat(4_194_303) }],
    ['a payload that is short until Postgres writes it', { payload: Array(15_000).fill(1e308) }],
  ] as const)('the database refuses %s, and nothing is half-stored', async ([, over], { db }) => {
    await expect(insertJob(db, { ...job, ...over })).rejects.toMatchObject({ code: '23514' });
    const { rows } = await db.query('SELECT (SELECT count(*) FROM millrace.payloads)::int AS n');
    expect(rows).toEqual([{ n: 0 }]);
  });

  test('one SQL call does the same from any language', async ({ db }) => {
    const { rows } = await db.query<{ id: string }>(
      `SELECT millrace.enqueue('invoice.send', '{"id": 7}'::jsonb, run_at => now() + interval '1 hour') AS id`,
    );
    expect(await rowOf(db, rows[0]?.id as string)).toMatchObject({ kind: 'invoice.send', payload: { id: 7 } });
  });

  test('calls of the first release go on working, by name and by place', async ({ db }) => {
    const id = randomUUID();
    const { rows } = await db.query(
      `SELECT millrace.enqueue(kind => 'test.kind', payload => '1', run_at => NULL, priority => 1, queue => 'q',
                               subject => 's', max_attempts => 2, id => $1) AS id
       UNION ALL
       SELECT millrace.enqueue('test.kind', '1', NULL, 1, 'q', 's', 2, $1)`,
      [id],
    );
    expect(rows).toEqual([{ id }, { id }]);
    expect(await rowOf(db, id)).toMatchObject({ priority: 1, queue: 'q', subject: 's', max_attempts: 2, payload: 1 });
  });

  test('NULL is a field’s default', async ({ db }) => {
    const { rows } = await db.query<{ id: string }>(
      `SELECT millrace.enqueue('test.kind', '1', priority => NULL, queue => NULL, max_attempts => NULL,
                               unique_while => NULL, replace => NULL) AS id`,
    );
    expect(await rowOf(db, rows[0]?.id as string)).toMatchObject({ priority: 0, queue: 'default', max_attempts: 5 });
  });

  test('a payload of exactly 4 MiB is taken', async ({ db }) => {
    const { id } = await insertJob(db, { ...job, payload: 'x'.repeat(4_194_302) });
    expect(await rowOf(db, id)).toMatchObject({ status: 'pending' });
  });

  test('NULL for a payload is the null of JSON', async ({ db }) => {
    const { rows } = await db.query<{ id: string }>(`SELECT millrace.enqueue('test.kind', NULL) AS id`);
    expect(await rowOf(db, rows[0]?.id as string)).toMatchObject({ status: 'pending', payload: null });
  });
});

test.for([
  ['priority', '6'],
  ['priority', '-40000'],
  ['priority', '2147483647'],
  ['max_attempts', '0'],
  ['max_attempts', '2147483647'],
  ['run_at', `'infinity'`],
  ['subject', `''`],
  ['queue', `'a b'`],
])('a %s of %s is refused by the table, with one SQLSTATE for all', async ([field, value], { db }) => {
  await expect(db.query(`SELECT millrace.enqueue('test.kind', '{}', ${field} => ${value})`)).rejects.toMatchObject({
    code: '23514',
  });
});
