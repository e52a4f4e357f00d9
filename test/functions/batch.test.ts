import type { Db } from '../../functions/queue/db.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { rowOf } from '../support/factories.ts';
import { type Call, describe, expect, expectProblem, test } from './api.ts';

const GREETING = { kind: 'hello.greet', payload: { name: 'Ada' } };
const send = (call: Call, jobs: unknown, request = {}) => call('POST', '/jobs/batch', { body: { jobs }, ...request });

async function stored(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT ((SELECT count(*) FROM millrace.live_jobs) + (SELECT count(*) FROM millrace.payloads)
             + (SELECT count(*) FROM millrace.idempotency_keys) + (SELECT count(*) FROM millrace.counter_deltas))::int AS n`,
  );
  return (rows[0] as { n: number }).n;
}

describe('POST /jobs/batch', () => {
  test('puts 1,000 jobs in and answers with their ids in order', async ({ call, db }) => {
    const jobs = Array.from({ length: 1000 }, (_, n) => ({ ...GREETING, payload: { name: `Ada ${n}` } }));
    const { status, body } = await send(call, jobs);
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual(['jobs']);
    const { rows } = await db.query(
      `SELECT p.id, p.payload FROM millrace.payloads p JOIN millrace.live_jobs USING (id) ORDER BY id`,
    );
    expect(rows.map(({ id }) => ({ id, outcome: 'created' }))).toEqual(body.jobs);
    expect(rows.map(({ payload }) => payload)).toEqual(jobs.map(({ payload }) => payload));
  });

  test('each item is as the body of POST /jobs', async ({ call, db }) => {
    const job = {
      ...GREETING,
      subject: 's',
      priority: 3,
      queue: 'slow',
      max_attempts: 2,
      run_at: '2031-05-06T01:02:03Z',
    };
    const webhook = { kind: 'github.webhook', payload: { event: 'push', delivery: {} } };
    const { body } = await send(call, [job, webhook]);
    expect(await rowOf(db, body.jobs[0].id)).toMatchObject({
      subject: 's',
      priority: 3,
      queue: 'slow',
      max_attempts: 2,
      run_at: new Date('2031-05-06T01:02:03Z'),
    });
    expect(await rowOf(db, body.jobs[1].id)).toMatchObject({ kind: 'github.webhook', max_attempts: 20 });
  });

  test('each item has keys of its own; 200 where no job is new', async ({ call, db }) => {
    const jobs = [
      { ...GREETING, idempotency_key: 'a' },
      { ...GREETING, unique_key: 'u' },
      { ...GREETING, unique_key: 'u', replace: ['payload'], payload: { name: 'Grace' } },
    ];
    const first = await send(call, jobs);
    expect(first.status).toBe(201);
    const [{ id: a }, { id: u }] = first.body.jobs;
    expect(first.body.jobs).toEqual([
      { id: a, outcome: 'created' },
      { id: u, outcome: 'created' },
      { id: u, outcome: 'replaced' },
    ]);
    await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [a]);
    expect(await send(call, jobs)).toMatchObject({
      status: 200,
      body: {
        jobs: [
          { id: a, outcome: 'replayed', pruned: true },
          { id: u, outcome: 'kept' },
          { id: u, outcome: 'replaced' },
        ],
      },
    });
    expect((await send(call, [...jobs, GREETING])).status).toBe(201);
  });

  test('one job alone, with or without a key', async ({ call }) => {
    const key = { idempotency_key: 'a' };
    expect(await send(call, [GREETING])).toMatchObject({ status: 201, body: { jobs: [{ outcome: 'created' }] } });
    expect(await send(call, [{ ...GREETING, ...key }])).toMatchObject({ status: 201 });
    expect(await send(call, [{ ...GREETING, ...key }])).toMatchObject({
      status: 200,
      body: { jobs: [{ outcome: 'replayed' }] },
    });
  });

  test('keys that stand for another payload are named, each', async ({ call, db }) => {
    await insertJob(db, { ...GREETING, idempotencyKey: 'a' });
    const before = await stored(db);
    const other = { ...GREETING, payload: { name: 'Grace' }, idempotency_key: 'a' };
    const answer = await send(call, [GREETING, other, { ...GREETING, idempotency_key: 'a' }, other]);
    expectProblem(answer, 422, 'idempotency-key-reused');
    expect(answer.body.errors).toEqual([
      { index: 1, pointer: '/jobs/1/idempotency_key', detail: expect.any(String) },
      { index: 3, pointer: '/jobs/3/idempotency_key', detail: expect.any(String) },
    ]);
    expect(await stored(db)).toBe(before);
  });

  test('takes a body of 4 MiB, and no more', async ({ call }) => {
    const sized = (rest: number) =>
      JSON.stringify({
        jobs: Array.from({ length: 17 }, (_, n) => ({
          ...GREETING,
          payload: { name: 'Ada', fill: 'x'.repeat(Math.ceil((rest - n) / 17)) },
        })),
      });
    const full = sized(4 * 1024 * 1024 - sized(0).length);
    expect(full).toHaveLength(4 * 1024 * 1024);
    expect((await call('POST', '/jobs/batch', { body: full })).status).toBe(201);
    expectProblem(await call('POST', '/jobs/batch', { body: `${full}   ` }), 413, 'too-large');
  });
});

describe('bad batches', () => {
  test.for<[what: string, body: string, pointer: string]>([
    ['no object', '[]', ''],
    ['null', 'null', ''],
    ['no jobs', '{}', '/jobs'],
    ['jobs that are no list', '{"jobs": {}}', '/jobs'],
    ['an empty list', '{"jobs": []}', '/jobs'],
    ['1,001 jobs', JSON.stringify({ jobs: Array(1001).fill(GREETING) }), '/jobs'],
    ['a field beside jobs', JSON.stringify({ jobs: [GREETING], queue: 'x' }), '/queue'],
  ])('%s: 422 at %s', async ([, body, pointer], { call, db }) => {
    const answer = await call('POST', '/jobs/batch', { body });
    expectProblem(answer, 422, 'invalid-job');
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
    expect(await stored(db)).toBe(0);
  });

  test.for(['', '{"jobs": [', 'nope'])('%j is no JSON', async (body, { call }) => {
    expectProblem(await call('POST', '/jobs/batch', { body }), 400, 'not-json');
  });

  test('the header Idempotency-Key has no place there', async ({ call, db }) => {
    const answer = await send(call, [GREETING], { headers: { 'idempotency-key': 'a' } });
    expectProblem(answer, 422, 'invalid-job');
    expect(answer.body.detail).toContain('each item has its own idempotency_key');
    expect(await stored(db)).toBe(0);
  });

  test('every bad item is named by index and pointer, whatever is wrong with it', async ({ call, db }) => {
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
    const items: [text: string, pointer: string | undefined, says: RegExp | undefined][] = [
      [JSON.stringify(GREETING), undefined, undefined],
      ['{"kind": "hello.greet", "payload": {"name": 7}}', '/payload/name', /expected string/],
      ['{"kind": "hello.great", "payload": {}}', '/kind', /not a known kind/],
      ['{"payload": {}}', '/kind', /is required/],
      ['7', '', /expected object/],
      ['{"kind": "hello.greet", "payload": {"name": "a\\u0000"}}', '/payload/name', /NUL/],
      ['{"kind": "hello.greet", "payload": {"name": "\\ud800"}}', '/payload/name', /surrogate/],
      [
        '{"kind": "hello.greet", "payload": {"name": "Ada", "n": 9007199254740993}}',
        '/payload/n',
        /send it as a string/,
      ],
      [
        '{"kind": "hello.greet", "payload": {"name": "Ada", "__proto__": 1}}',
        '/payload/__proto__',
        /do not hold safely/,
      ],
      [JSON.stringify({ ...GREETING, priority: 6 }), '/priority', /must be a whole number from -5 to 5/],
      [JSON.stringify({ ...GREETING, id: 'x' }), '/id', /not a field/],
      [JSON.stringify({ ...GREETING, unique_while: 'live' }), '/unique_key', /is missing/],
      [JSON.stringify({ ...GREETING, run_at: 'tomorrow' }), '/run_at', /RFC 3339/],
      [
        JSON.stringify({ ...GREETING, payload: { name: 'Ada', fill: 'x'.repeat(262_144) } }),
        '/payload',
        /may have 262144/,
      ],
      [`{"kind": "hello.greet", "payload": ${deep}}`, '', /deeper than 100 levels/],
      [JSON.stringify({ ...GREETING, idempotency_key: 'fine' }), undefined, undefined],
    ];
    const sent = async (texts: string[]) => {
      const answer = await call('POST', '/jobs/batch', { body: `{"jobs": [${texts.join()}]}` });
      expectProblem(answer, 422, 'invalid-job');
      expect(await stored(db)).toBe(0);
      return answer.body.errors as { index: number; pointer: string; detail: string }[];
    };
    // Numbers that would be altered are not looked for where something is nested that deep.
    const shallow = items.filter(([text]) => !text.includes(deep));
    for (const batch of [shallow, items.filter(([text]) => !text.includes('9007199254740993'))]) {
      const errors = await sent(batch.map(([text]) => text));
      for (const [index, [, pointer, says]] of batch.entries()) {
        const named = errors.filter((error) => error.index === index);
        if (pointer === undefined) expect(named).toEqual([]);
        else expect(named[0]?.pointer, `item ${index}`).toBe(`/jobs/${index}${pointer}`);
        if (says !== undefined) expect(named[0]?.detail).toMatch(says);
      }
    }
  });

  test('a few bad items show all that is wrong with them', async ({ call }) => {
    const answer = await send(call, [GREETING, { ...GREETING, priority: 9, queue: '', colour: 1 }]);
    expect(answer.body.errors.map((error: { pointer: string }) => error.pointer).sort()).toEqual([
      '/jobs/1/colour',
      '/jobs/1/priority',
      '/jobs/1/queue',
    ]);
    expect(answer.body.detail).toContain('1 of 2 jobs');
  });

  test('of a thousand bad items each is named once, and the answer stays small', async ({ call, db }) => {
    const long = Array.from({ length: 90 }, (_, n) => `${'"\\"'.repeat(30)}${n}`).reduceRight<unknown>(
      (inner, key) => ({ [key]: inner }),
      '\0',
    );
    const few = Array.from({ length: 150 }, () => ({ ...GREETING, payload: long }));
    const many = Array.from({ length: 1000 }, () => ({ kind: 'x', payload: 1, a: 1, b: 2 }));
    for (const jobs of [few, many]) {
      const answer = await send(call, jobs);
      expectProblem(answer, 422, 'invalid-job');
      expect(answer.body.errors.map((error: { index: number }) => error.index)).toEqual(jobs.map((_, n) => n));
      expect(answer.text.length).toBeLessThan(1_000_000);
    }
    expect(await stored(db)).toBe(0);
  });

  test('a million levels end nobody’s stack', async ({ call, db }) => {
    const body = `{"jobs": [${JSON.stringify(GREETING)}, ${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}]}`;
    const answer = await call('POST', '/jobs/batch', { body });
    expectProblem(answer, 422, 'invalid-job');
    expect(answer.body.errors).toEqual([{ index: 1, pointer: '/jobs/1', detail: 'is nested deeper than 100 levels' }]);
    expect(await stored(db)).toBe(0);
  });
});
