import { logged } from '../queue/operator-log.ts';
import { counterOf, deadJob, finishedJob, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { describe, expect, expectProblem, test } from './api.ts';

describe('POST /jobs/{id}/cancel', () => {
  test('ends a pending job', async ({ call, db }) => {
    const { id } = await pendingJob(db);
    const answer = await call('POST', `/jobs/${id}/cancel`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id, status: 'cancelled' });
    expect(await statusOf(db, id)).toBe('cancelled');
  });

  test('asks a running job to stop: 202', async ({ call, db }) => {
    const { id } = await processingJob(db);
    const answer = await call('POST', `/jobs/${id}/cancel`);
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({ status: 'processing', cancel_requested_at: expect.any(String) });
  });

  test('can be repeated', async ({ call, db }) => {
    const { id } = await pendingJob(db);
    await call('POST', `/jobs/${id}/cancel`);
    expect((await call('POST', `/jobs/${id}/cancel`)).status).toBe(200);
  });

  test('409 and come again, while somebody’s open transaction holds the job', async ({ call, db }) => {
    const { id } = await pendingJob(db, { uniqueKey: 'k' });
    const producer = await db.connect();
    try {
      await producer.query('BEGIN');
      // Kept behind that job, whose run must not be lost before this is decided.
      await producer.query(`SELECT millrace.enqueue('test.kind', '{}', unique_key => 'k')`);
      const answer = await call('POST', `/jobs/${id}/cancel`);
      expectProblem(answer, 409, 'key-in-use');
      expect(answer.headers['retry-after']).toBe('1');
      await producer.query('COMMIT');
    } finally {
      producer.release();
    }
    expect(await logged(db)).toEqual([]);
    expect((await call('POST', `/jobs/${id}/cancel`)).status).toBe(200);
  });

  test('comes too late for a job that ended: 409 that says where it is', async ({ call, db }) => {
    for (const { id } of [await finishedJob(db), await deadJob(db)]) {
      const status = await statusOf(db, id);
      const answer = await call('POST', `/jobs/${id}/cancel`);
      expectProblem(answer, 409, 'wrong-state');
      expect(answer.body.job_status).toBe(status);
      expect(answer.body.detail).toContain(`this one is ${status}`);
      expect(await statusOf(db, id)).toBe(status);
    }
  });
});

describe('POST /jobs/{id}/redrive', () => {
  test('makes a dead job pending, with its errors and fresh attempts', async ({ call, db }) => {
    const { id } = await deadJob(db);
    const answer = await call('POST', `/jobs/${id}/redrive`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ status: 'pending', attempts: 0, errors: [{ message: 'boom' }] });
    expect(await statusOf(db, id)).toBe('pending');
  });

  test('leaves every other state alone: 409', async ({ call, db }) => {
    for (const { id } of [await pendingJob(db), await processingJob(db), await finishedJob(db)]) {
      expectProblem(await call('POST', `/jobs/${id}/redrive`), 409, 'wrong-state');
    }
  });
});

describe('POST /jobs/{id}/redrive beside a job of the same unique key', () => {
  test('409 that names the pending one', async ({ call, db }) => {
    const [dead, twin] = [await deadJob(db, { uniqueKey: 'k' }), await pendingJob(db, { uniqueKey: 'k' })];
    const answer = await call('POST', `/jobs/${dead.id}/redrive`);
    expectProblem(answer, 409, 'unique-key-taken');
    expect(answer.body.job_id).toBe(twin.id);
    expect(await statusOf(db, dead.id)).toBe('dead');
  });

  test('409 and come again, while somebody’s open transaction holds the key', async ({ call, db }) => {
    const dead = await deadJob(db, { uniqueKey: 'k' });
    const producer = await db.connect();
    try {
      await producer.query('BEGIN');
      await pendingJob(producer, { uniqueKey: 'k' });
      const answer = await call('POST', `/jobs/${dead.id}/redrive`);
      expectProblem(answer, 409, 'key-in-use');
      expect(answer.headers['retry-after']).toBe('1');
      await producer.query('ROLLBACK');
    } finally {
      producer.release();
    }
    expect((await call('POST', `/jobs/${dead.id}/redrive`)).status).toBe(200);
  });
});

describe('POST /jobs/redrive', () => {
  const all = { dead_after: '1970-01-01T00:00:00Z' };

  test('redrives what fits, page by page', async ({ call, db }) => {
    for (let n = 0; n < 3; n++) await deadJob(db, { kind: 'a.kind' });
    const other = await deadJob(db, { kind: 'b.kind' });
    const body = { kind: 'a.kind', error: 'BOOM', ...all, dead_before: '2100-01-01T00:00:00+01:00', limit: 2 };
    const tooLate = await call('POST', '/jobs/redrive', { body });
    expectProblem(tooLate, 422, 'invalid-filter');
    const filter = { ...body, dead_before: new Date(Date.now() + 60_000).toISOString() };
    const first = await call('POST', '/jobs/redrive', { body: filter });
    expect(first).toMatchObject({ status: 200, body: { redriven: 2, skipped: 0, next_cursor: expect.any(String) } });
    const second = await call('POST', '/jobs/redrive', { body: { ...filter, cursor: first.body.next_cursor } });
    expect(second.body).toEqual({ redriven: 1, skipped: 0, next_cursor: null });
    expect(await statusOf(db, other.id)).toBe('dead');
  });

  test('a dry run counts and changes nothing', async ({ call, db }) => {
    const { id } = await deadJob(db);
    const answer = await call('POST', '/jobs/redrive', { body: { ...all, dry_run: true } });
    expect(answer).toMatchObject({ status: 200, body: { matched: 1, next_cursor: null } });
    expect(await statusOf(db, id)).toBe('dead');
    expect(await logged(db)).toEqual([]);
  });

  test.for<[string, object, string]>([
    ['no filter at all', {}, ''],
    ['a limit alone', { limit: 1 }, ''],
    ['a kind that cannot be', { kind: 'a kind' }, '/kind'],
    ['an empty text', { error: '' }, '/error'],
    ['a time without a zone', { dead_after: '2026-01-01T00:00:00' }, '/dead_after'],
    ['a day that is not', { dead_before: '2026-02-30T00:00:00Z' }, '/dead_before'],
    ['a limit of 1001', { kind: 'a', limit: 1001 }, '/limit'],
    ['a limit in words', { kind: 'a', limit: '10' }, '/limit'],
    ['what nobody knows', { kind: 'a', subject: 'x' }, '/subject'],
    ['a list', [], ''],
  ])('422: %s', async ([, body, pointer], { call }) => {
    const answer = await call('POST', '/jobs/redrive', { body });
    expectProblem(answer, 422, 'invalid-filter');
    expect(answer.body.errors).toEqual([{ pointer, detail: expect.any(String) }]);
  });

  test('400: a cursor of another filter, and one that nobody gave out', async ({ call, db }) => {
    for (let n = 0; n < 2; n++) await deadJob(db);
    const { body } = await call('POST', '/jobs/redrive', { body: { ...all, limit: 1, dry_run: true } });
    for (const cursor of [body.next_cursor, 'mistyped', '']) {
      const answer = await call('POST', '/jobs/redrive', { body: { kind: 'test.kind', cursor } });
      expectProblem(answer, 400, 'invalid-cursor');
    }
  });

  test('a resend of a page is answered as the first time', async ({ call, db }) => {
    for (let n = 0; n < 3; n++) await deadJob(db);
    const send = (requestId: string, cursor?: string) =>
      call('POST', '/jobs/redrive', { body: { ...all, limit: 2, cursor }, headers: { 'x-request-id': requestId } });
    const first = await send('one');
    expect((await send('one')).body).toEqual(first.body);
    expect((await send('one', first.body.next_cursor)).body).toEqual({ redriven: 1, skipped: 0, next_cursor: null });
    expect(await counterOf(db, 'test.kind', 'redriven')).toBe(3);
  });
});

describe('DELETE /jobs/{id}', () => {
  test('erases a job that has ended: 204, then 404', async ({ call, db }) => {
    for (const { id } of [await finishedJob(db), await finishedJob(db, { status: 'cancelled' }), await deadJob(db)]) {
      expect(await call('DELETE', `/jobs/${id}`)).toMatchObject({ status: 204, text: '' });
      expectProblem(await call('GET', `/jobs/${id}`), 404, 'no-such-job');
      expectProblem(await call('DELETE', `/jobs/${id}`), 404, 'no-such-job');
    }
  });

  test('leaves live jobs alone: 409', async ({ call, db }) => {
    for (const { id } of [await pendingJob(db), await processingJob(db)]) {
      const status = await statusOf(db, id);
      const answer = await call('DELETE', `/jobs/${id}`);
      expectProblem(answer, 409, 'wrong-state');
      expect(answer.body.job_status).toBe(status);
    }
  });
});

describe('pause and resume', () => {
  test.for([
    ['queues', 'queue', 'mail'],
    ['kinds', 'kind', 'invoice.send'],
  ] as const)('of %s say how it stands, and can be repeated', async ([path, scope, name], { call, db }) => {
    for (const [verb, paused] of [
      ['pause', true],
      ['pause', true],
      ['resume', false],
      ['resume', false],
    ] as const) {
      const answer = await call('POST', `/${path}/${name}/${verb}`);
      expect(answer).toMatchObject({ status: 200, body: { [scope]: name, paused } });
      const { rows } = await db.query('SELECT scope, name FROM millrace.pauses WHERE resumed_at IS NULL');
      expect(rows).toEqual(paused ? [{ scope, name }] : []);
    }
  });

  test('400: a name that none can have', async ({ call }) => {
    for (const name of ['-x', 'a b', 'a%00b', 'ä', 'x'.repeat(101)]) {
      for (const path of ['queues', 'kinds']) {
        expectProblem(await call('POST', `/${path}/${encodeURIComponent(name)}/pause`), 400, 'invalid-name');
      }
    }
  });
});

test('a resend is answered as the first time, another request as things stand', async ({ call, db }) => {
  const [dead, done] = [await deadJob(db), await finishedJob(db)];
  const send = (method: string, target: string, requestId: string) =>
    call(method, target, { headers: { 'x-request-id': requestId } });
  for (const [method, target, first, other] of [
    ['POST', `/jobs/${dead.id}/redrive`, 200, 409],
    ['DELETE', `/jobs/${done.id}`, 204, 404],
  ] as const) {
    expect((await send(method, target, 'one')).status).toBe(first);
    expect((await send(method, target, 'one')).status).toBe(first);
    expect((await send(method, target, 'other')).status).toBe(other);
  }
});

test('each leaves the name of the caller and the id of the request in the log', async ({ call, db }) => {
  const [pending, dead, done] = [await pendingJob(db), await deadJob(db), await finishedJob(db)];
  for (const [method, target, body] of [
    ['POST', `/jobs/${pending.id}/cancel`],
    ['POST', `/jobs/${dead.id}/redrive`],
    ['POST', '/jobs/redrive', { kind: 'no.kind' }],
    ['DELETE', `/jobs/${done.id}`],
    ['POST', '/queues/mail/pause'],
    ['POST', '/kinds/a/pause'],
    ['POST', '/kinds/a/resume'],
  ] as const) {
    const headers = { 'x-request-id': 'request-7' };
    expect((await call(method, target, { headers, ...(body && { body }) })).status).toBeLessThan(300);
  }
  const entries = await logged(db);
  expect(entries.map(({ action, target }) => [action, target])).toEqual([
    ['cancel', { id: pending.id }],
    ['redrive', { id: dead.id }],
    ['erase', { id: done.id }],
    ['pause', { queue: 'mail' }],
    ['pause', { kind: 'a' }],
    ['resume', { kind: 'a' }],
  ]);
  for (const entry of entries)
    expect(entry).toMatchObject({ actor: 'test-operator', requestId: 'request-7', count: 1 });
});
