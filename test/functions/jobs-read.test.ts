import { complete } from '../../functions/queue/complete.ts';
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

  test('shows keys, the request that put it in, and how far it is', async ({ call, db }) => {
    const { id, token } = await processingJob(db, { uniqueKey: 'u', idempotencyKey: 'i', requestId: 'r' });
    expect((await call('GET', `/jobs/${id}`)).body).toMatchObject({
      unique_key: 'u',
      idempotency_key: 'i',
      request_id: 'r',
      progress: null,
    });
    await db.query('INSERT INTO millrace.job_progress (id, fraction, note) VALUES ($1, 0.42, $2)', [id, 'page 3']);
    expect((await call('GET', `/jobs/${id}`)).body.progress).toEqual({
      fraction: 0.42,
      note: 'page 3',
      updated_at: expect.stringMatching(MICROSECONDS),
    });
    await complete(db, [{ id, token, result: null }]);
    expect((await call('GET', `/jobs/${id}`)).body).toMatchObject({ unique_key: 'u', request_id: 'r', progress: null });
  });

  test('shows the progress of the latest attempt, and of none before it', async ({ call, db }) => {
    const { id } = await processingJob(db);
    await db.query(
      `INSERT INTO millrace.job_progress (id, fraction, updated_at) VALUES ($1, 1, now() - interval '1 second')`,
      [id],
    );
    expect((await call('GET', `/jobs/${id}`)).body.progress).toBeNull();
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
        errors: [
          { attempt: 1, name: 'A', message: 'first' },
          { attempt: 2, name: 'B', message: 'last', stack: 'at x' },
        ],
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
    expect(body.jobs[3].last_error).toEqual({ attempt: 2, name: 'B', message: 'last' });
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

  test('filters by subject and by time, with the others', async ({ call, db }) => {
    const ids: string[] = [];
    for (const [age, subject] of [
      [30, 'invoice:7'],
      [20, 'invoice:7'],
      [10, 'invoice:8'],
      [1, 'Rechnung №7 & Söhne, +1'],
    ] as const) {
      ids.push((await pendingJob(db, { subject, createdSecondsAgo: age })).id);
    }
    const found = async (query: string) =>
      (await call('GET', `/jobs?${query}`)).body.jobs.map(({ id }: { id: string }) => ids.indexOf(id));
    const at = (age: number) => new Date(Date.now() - age * 1000).toISOString();
    expect(await found('subject=invoice:7')).toEqual([1, 0]);
    expect(await found(`subject=${encodeURIComponent('Rechnung №7 & Söhne, +1')}`)).toEqual([3]);
    expect(await found('subject=invoice:7&status=dead')).toEqual([]);
    expect(await found(`created_after=${at(25)}`)).toEqual([3, 2, 1]);
    expect(await found(`created_after=${at(25)}&created_before=${at(5)}`)).toEqual([2, 1]);
    expect(await found(`created_before=${at(5)}&subject=invoice:7&kind=test.kind&status=pending`)).toEqual([1, 0]);
    const inKathmandu = new Date(Date.now() - 25_000 + 5.75 * 3_600_000).toISOString().replace('Z', '%2B05:45');
    expect(await found(`created_after=${inKathmandu}`)).toEqual([3, 2, 1]);
  });

  test('compares times finer than a millisecond as they are', async ({ call, db }) => {
    const { id } = await pendingJob(db);
    const at = new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString().slice(0, -1);
    const count = async (query: string) => (await call('GET', `/jobs?${query}`)).body.jobs.length;
    expect(await count(`created_after=${at}Z`)).toBe(1);
    expect(await count(`created_after=${at}000Z`)).toBe(1);
    expect(await count(`created_after=${at}0001Z`)).toBe(0);
    expect(await count(`created_before=${at}Z`)).toBe(0);
    expect(await count(`created_before=${at}0001Z`)).toBe(1);
  });

  test('counts by status, up to 1,000 each, with the same filters and on every page alike', async ({ call, db }) => {
    await db.query(`SELECT millrace.enqueue('many', '{}', subject => 's') FROM generate_series(1, 1001)`);
    await finishedJob(db, { subject: 's' });
    await deadJob(db, { kind: 'many' });
    const all = await call('GET', '/jobs?counts=true&limit=1');
    expect(all.body.counts).toEqual({ pending: 1000, processing: 0, completed: 1, cancelled: 0, dead: 1 });
    expect(all.body.counts_limit).toBe(1000);
    const next = await call('GET', `/jobs?counts=true&limit=1&cursor=${all.body.next_cursor}`);
    expect(next.body.counts).toEqual(all.body.counts);
    expect((await call('GET', '/jobs?counts=true&status=dead')).body.counts).toEqual({ dead: 1 });
    expect((await call('GET', '/jobs?counts=true&subject=s&status=completed')).body.counts).toEqual({ completed: 1 });
    expect((await call('GET', '/jobs?counts=false')).body).not.toHaveProperty('counts');
  });

  test('names each filter that it cannot use', async ({ call }) => {
    const bad: Record<string, string> = {
      status: 'done',
      kind: 'a b',
      subject: '',
      created_after: 'yesterday',
      created_before: '2030-02-30T00:00:00Z',
      counts: '1',
    };
    const answer = await call('GET', `/jobs?${new URLSearchParams(bad)}`);
    expectProblem(answer, 400, 'invalid-query');
    const pointers = answer.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(pointers.sort()).toEqual(
      Object.keys(bad)
        .map((name) => `/${name}`)
        .sort(),
    );
    for (const query of ['subject=%00', `subject=${'a'.repeat(256)}`, 'created_after=2030-01-31T08:00:00+01:00']) {
      expectProblem(await call('GET', `/jobs?${query}`), 400, 'invalid-query');
    }
  });

  test('refuses a cursor that was changed', async ({ call, db }) => {
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
    expectProblem(await call('GET', `/jobs?status=pending&cursor=${cursor}=`), 400, 'invalid-cursor');
  });

  test('refuses a cursor with other filters than those it came with, whichever they are', async ({ call, db }) => {
    await pendingJob(db, { subject: 's' });
    await pendingJob(db, { subject: 's' });
    const filters = {
      status: ['pending', 'dead'],
      kind: ['test.kind', 'other'],
      subject: ['s', 't'],
      created_after: ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00.001Z'],
      created_before: ['2090-01-01T00:00:00Z', '2090-01-01T00:00:01Z'],
    };
    const given = Object.fromEntries(Object.entries(filters).map(([name, [value = '']]) => [name, value]));
    const { body } = await call('GET', `/jobs?limit=1&${new URLSearchParams(given)}`);
    const cursor: string = body.next_cursor;
    const to = (query: Record<string, string>) => call('GET', `/jobs?${new URLSearchParams({ ...query, cursor })}`);
    // The same time said otherwise is the same filter.
    expect((await to({ ...given, created_after: '2020-01-01T05:45:00.000+05:45' })).status).toBe(200);
    for (const [name, [, other = '']] of Object.entries(filters)) {
      expectProblem(await to({ ...given, [name]: other }), 400, 'invalid-cursor');
      const { [name]: _, ...without } = given;
      expectProblem(await to(without), 400, 'invalid-cursor');
    }
    expectProblem(await to({}), 400, 'invalid-cursor');
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
