import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, expectProblem, test } from './api.ts';

const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe('GET /jobs/{id}', () => {
  test('shows a job of every state', async ({ call, db }) => {
    const jobs = {
      pending: await pendingJob(db),
      processing: await processingJob(db),
      completed: await finishedJob(db),
      cancelled: await finishedJob(db, { status: 'cancelled', token: null }),
      dead: await deadJob(db),
    };
    for (const [status, { id, kind }] of Object.entries(jobs)) {
      const answer = await call('GET', `/jobs/${id}`);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ id, kind, status, created_at: expect.stringMatching(MICROSECONDS) });
    }
  });

  test('shows errors, and never the claim token', async ({ call, db }) => {
    const { id, token } = await deadJob(db);
    const { body, text } = await call('GET', `/jobs/${id}`);
    expect(body.errors).toEqual([{ attempt: 5, name: 'Error', message: 'boom' }]);
    expect(body).toMatchObject({ finished_at: expect.stringMatching(MICROSECONDS), attempts: 5, max_attempts: 5 });
    expect(text).not.toContain(token);
  });

  test('shows payload and result only when asked', async ({ call, db }) => {
    const { id } = await finishedJob(db, { payload: { secret: 'p' }, result: { secret: 'r' } });
    const plain = await call('GET', `/jobs/${id}`);
    expect(plain.text).not.toContain('secret');
    expect((await call('GET', `/jobs/${id}?include=payload`)).body).toMatchObject({ payload: { secret: 'p' } });
    expect((await call('GET', `/jobs/${id}?include=result`)).body).not.toHaveProperty('payload');
    const both = await call('GET', `/jobs/${id}?include=payload%2Cresult`);
    expect(both.body).toMatchObject({ payload: { secret: 'p' }, result: { secret: 'r' } });
    const pending = await pendingJob(db);
    expect((await call('GET', `/jobs/${pending.id}?include=result`)).body.result).toBeNull();
  });

  test('passes a payload on as Postgres has it: no number rounded, no depth too deep', async ({ call, db }) => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
    const { rows } = await db.query(`SELECT millrace.enqueue('any', $1) AS id`, [
      `{"n": 12345678901234567890.10, "deep": ${deep}}`,
    ]);
    const answer = await call('GET', `/jobs/${rows[0].id}?include=payload`);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('12345678901234567890.10');
    expect(answer.text).toContain(deep);
  });

  test('says that an answer would be longer than a Lambda may return, and how else to read the job', async ({
    call,
    db,
  }) => {
    // Quotes count twice: the body is text inside the function's answer.
    const { rows } = await db.query(
      `SELECT millrace.enqueue('any', to_jsonb(array_fill(''::text, '{1048000}'))) AS id`,
    );
    const answer = await call('GET', `/jobs/${rows[0].id}?include=payload`);
    expectProblem(answer, 413, 'too-large');
    expect(answer.body.detail).toContain('leave out include');
    expect((await call('GET', `/jobs/${rows[0].id}`)).status).toBe(200);
  });

  test('takes ids in capitals and of other versions', async ({ call, db }) => {
    const { rows } = await db.query(
      `SELECT millrace.enqueue('any', '{}', id => 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11') AS id`,
    );
    const answer = await call('GET', `/jobs/${rows[0].id.toUpperCase()}`);
    expect(answer.body.id).toBe('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
  });
});

describe('GET /jobs', () => {
  test('lists the newest first, over all states, with the last error and no payloads', async ({ call, db }) => {
    const made = [
      await finishedJob(db, { createdSecondsAgo: 50, result: { secret: 1 } }),
      await deadJob(db, {
        createdSecondsAgo: 40,
        payload: { secret: 1 },
        errors: [{ name: 'A' }, { name: 'B', message: 'last', stack: 'at x' }],
      }),
      await pendingJob(db, { createdSecondsAgo: 30, payload: { secret: 1 } }),
      await processingJob(db, { createdSecondsAgo: 20 }),
      await finishedJob(db, { createdSecondsAgo: 10, status: 'cancelled' }),
    ];
    const { status, body, text, headers } = await call('GET', '/jobs');
    expect(status).toBe(200);
    expect(body.jobs.map((job: { id: string }) => job.id)).toEqual(made.map(({ id }) => id).reverse());
    expect(body.jobs.map((job: { status: string }) => job.status)).toEqual([
      'cancelled',
      'processing',
      'pending',
      'dead',
      'completed',
    ]);
    expect(body.jobs[3].last_error).toEqual({ name: 'B', message: 'last' });
    expect(body.jobs[4].last_error).toBeNull();
    expect(text).not.toContain('secret');
    expect(body.next_cursor).toBeNull();
    expect(headers).not.toHaveProperty('link');
  });

  test('pages through everything once, while jobs come and change state', async ({ call, db }) => {
    const made: string[] = [];
    for (let n = 25; n > 0; n--) {
      const make = [pendingJob, processingJob, finishedJob, deadJob][n % 4] as typeof pendingJob;
      made.push((await make(db, { createdSecondsAgo: n })).id);
    }
    const seen: string[] = [];
    let target = '/jobs?limit=4';
    for (let pages = 0; target !== ''; pages++) {
      expect(pages).toBeLessThan(10);
      const { body, headers } = await call('GET', target);
      seen.push(...body.jobs.map((job: { id: string }) => job.id));
      target = /^<(.+)>; rel="next"$/.exec(headers.link ?? '')?.[1] ?? '';
      expect(target === '').toBe(body.next_cursor === null);
      if (target !== '') expect(new URLSearchParams(target.split('?')[1]).get('cursor')).toBe(body.next_cursor);
      await pendingJob(db);
      await db.query(`DELETE FROM millrace.live_jobs WHERE id = $1`, [seen.at(-1)]);
    }
    expect(seen).toEqual(made.reverse());
  });

  test('filters by status, by kind and by both', async ({ call, db }) => {
    const ids: Record<string, string> = {};
    for (const kind of ['a', 'b']) {
      ids[`${kind} pending`] = (await pendingJob(db, { kind })).id;
      ids[`${kind} processing`] = (await processingJob(db, { kind })).id;
      ids[`${kind} completed`] = (await finishedJob(db, { kind })).id;
      ids[`${kind} cancelled`] = (await finishedJob(db, { kind, status: 'cancelled' })).id;
      ids[`${kind} dead`] = (await deadJob(db, { kind })).id;
    }
    const found = async (query: string) => {
      const { body } = await call('GET', `/jobs?${query}`);
      return body.jobs.map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`).sort();
    };
    for (const status of ['pending', 'processing', 'completed', 'cancelled', 'dead']) {
      expect(await found(`status=${status}`)).toEqual([`a ${status}`, `b ${status}`]);
      expect(await found(`status=${status}&kind=b`)).toEqual([`b ${status}`]);
    }
    expect(await found('kind=a')).toEqual(
      Object.keys(ids)
        .filter((name) => name.startsWith('a'))
        .sort(),
    );
    expect(await found('kind=nobody')).toEqual([]);
    expect(await found('kind=nobody&status=dead')).toEqual([]);
  });

  test('refuses a cursor that was changed, or is of another listing', async ({ call, db }) => {
    await pendingJob(db);
    await pendingJob(db);
    const { body } = await call('GET', '/jobs?limit=1&status=pending');
    const cursor: string = body.next_cursor;
    expect((await call('GET', `/jobs?limit=2&status=pending&cursor=${cursor}`)).body.jobs).toHaveLength(1);
    for (let at = 0; at < cursor.length; at++) {
      const other = cursor[at] === 'A' ? 'B' : 'A';
      const tampered = cursor.slice(0, at) + other + cursor.slice(at + 1);
      expectProblem(await call('GET', `/jobs?status=pending&cursor=${tampered}`), 400, 'invalid-cursor');
    }
    expectProblem(await call('GET', `/jobs?cursor=${cursor}`), 400, 'invalid-cursor');
    expectProblem(await call('GET', `/jobs?status=dead&cursor=${cursor}`), 400, 'invalid-cursor');
    expectProblem(await call('GET', `/jobs?status=pending&cursor=${cursor}=`), 400, 'invalid-cursor');
  });

  test('takes limits from 1 to 200, 50 by default', async ({ call, db }) => {
    await db.query(`SELECT millrace.enqueue('many', '{}') FROM generate_series(1, 201)`);
    expect((await call('GET', '/jobs')).body.jobs).toHaveLength(50);
    expect((await call('GET', '/jobs?limit=1')).body.jobs).toHaveLength(1);
    const most = await call('GET', '/jobs?limit=200');
    expect(most.body.jobs).toHaveLength(200);
    expect((await call('GET', `/jobs?limit=200&cursor=${most.body.next_cursor}`)).body.jobs).toHaveLength(1);
  });
});
