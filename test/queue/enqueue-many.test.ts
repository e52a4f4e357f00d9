import { randomUUID } from 'node:crypto';
import type { Db } from '../../functions/queue/db.ts';
import { insertJobs, type NewJob } from '../../functions/queue/enqueue.ts';
import { counterOf, deadJob, liveRowOf, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const job = { kind: 'test.kind', payload: { n: 1 } };

/** Whole answer of the SQL function, as any language sees it. */
async function enqueueMany(db: Db, jobs: unknown) {
  const { rows } = await db.query('SELECT * FROM millrace.enqueue_many($1)', [JSON.stringify(jobs)]);
  return rows;
}

async function stored(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `SELECT ((SELECT count(*) FROM millrace.live_jobs) + (SELECT count(*) FROM millrace.payloads)
             + (SELECT count(*) FROM millrace.idempotency_keys) + (SELECT count(*) FROM millrace.counter_deltas))::int AS n`,
  );
  return (rows[0] as { n: number }).n;
}

describe('enqueue_many', () => {
  test('1,000 jobs go in in order: of the answer, of the ids and of the run times', async ({ db }) => {
    const jobs = Array.from({ length: 1000 }, (_, n) => ({ kind: n % 2 ? 'odd.kind' : 'even.kind', payload: n }));
    const answer = await enqueueMany(db, jobs);
    expect(answer.map(({ index }) => index)).toEqual(jobs.map((_, n) => n));
    expect(new Set(answer.map(({ outcome, pruned }) => `${outcome} ${pruned}`))).toEqual(new Set(['created false']));
    const { rows } = await db.query(
      `SELECT l.id, p.payload FROM millrace.live_jobs l JOIN millrace.payloads p ON p.id = l.id ORDER BY l.run_at`,
    );
    expect(rows).toEqual(answer.map(({ id }, n) => ({ id, payload: n })));
    expect(await counterOf(db, 'odd.kind', 'enqueued')).toBe(500);
  });

  test('all fields have the names of the wire, and NULL is their default', async ({ db }) => {
    const full = {
      kind: 'test.kind',
      payload: { text: 'ä€😀', price: 1.5, none: null },
      run_at: '2030-01-31T09:00:00.123456+01:00',
      priority: -5,
      queue: 'mail',
      subject: 'invoice:7',
      max_attempts: 2,
      id: randomUUID(),
      idempotency_key: 'i',
      unique_key: 'u',
      unique_while: 'live',
      replace: ['payload', 'run_at'],
      request_id: 'r',
      traceparent: 't',
    };
    const empty = Object.fromEntries(Object.keys({ ...full, delay_seconds: 1 }).map((field) => [field, null]));
    const [first, second, third] = await enqueueMany(db, [
      full,
      { ...empty, kind: 'test.kind' },
      { kind: 'test.kind' },
    ]);
    expect(await liveRowOf(db, first?.id)).toMatchObject({
      id: full.id,
      kind: 'test.kind',
      run_at: new Date('2030-01-31T08:00:00.123Z'),
      priority: -5,
      queue: 'mail',
      subject: 'invoice:7',
      max_attempts: 2,
      idempotency_key: 'i',
      unique_key: 'u',
      request_id: 'r',
      traceparent: 't',
    });
    expect(await rowOf(db, full.id)).toMatchObject({ payload: full.payload });
    for (const { id } of [second, third] as { id: string }[]) {
      expect(await rowOf(db, id)).toMatchObject({ payload: null, priority: 0, queue: 'default', max_attempts: 5 });
    }
  });

  test('a delay counts from the clock of the database', async ({ db }) => {
    const [made] = await enqueueMany(db, [{ ...job, delay_seconds: 90.5 }]);
    const { rows } = await db.query(
      'SELECT round(extract(epoch FROM run_at - created_at), 1)::float8 AS delay FROM millrace.live_jobs WHERE id = $1',
      [made?.id],
    );
    expect(rows).toEqual([{ delay: 90.5 }]);
  });

  test('times go in as Postgres itself writes them', async ({ db }) => {
    const { rows } = await db.query(
      `SELECT e.outcome
       FROM millrace.enqueue_many(jsonb_build_array(
         jsonb_build_object('kind', 'a', 'run_at', now() + interval '1 day'),
         jsonb_build_object('kind', 'b', 'run_at', (now() + interval '1 day')::text))) e`,
    );
    expect(rows).toEqual([{ outcome: 'created' }, { outcome: 'created' }]);
    const { rows: due } = await db.query(
      `SELECT kind FROM millrace.live_jobs WHERE run_at - clock_timestamp() BETWEEN interval '23 h' AND interval '1 day'`,
    );
    expect(due).toHaveLength(2);
  });

  test('an empty array is nothing to do', async ({ db }) => {
    expect(await enqueueMany(db, [])).toEqual([]);
  });

  test('a batch that is sent again with its ids changes nothing, whatever has become of its jobs', async ({ db }) => {
    const running = await processingJob(db);
    const dead = await deadJob(db);
    await db.query('DELETE FROM millrace.payloads WHERE id = $1', [dead.id]);
    const jobs: NewJob[] = [running.id, dead.id, randomUUID(), randomUUID()].map((id) => ({ ...job, id }));
    const first = await insertJobs(db, jobs);
    expect(await insertJobs(db, jobs)).toEqual(first);
    expect(first.map(({ id, outcome }) => [id, outcome])).toEqual(jobs.map(({ id }) => [id, 'created']));
    expect(await statusOf(db, running.id)).toBe('processing');
    expect(await statusOf(db, dead.id)).toBe('dead');
    expect((await db.query('SELECT FROM millrace.jobs')).rowCount).toBe(4);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(4);
  });

  test('one id twice in a batch is one job, the first', async ({ db }) => {
    const id = randomUUID();
    const made = await insertJobs(db, [{ ...job, id }, job, { ...job, id, payload: 'other' }]);
    expect([made[0], made[2]]).toEqual(Array(2).fill({ id, outcome: 'created', pruned: false }));
    expect(await rowOf(db, id)).toMatchObject({ payload: { n: 1 } });
    expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(2);
    expect(await counterOf(db, 'test.kind', 'enqueued')).toBe(2);
  });

  test('a batch without keys stores every other field as it was given, or its default', async ({ db }) => {
    const id = randomUUID();
    const [made, delayed] = await enqueueMany(db, [
      {
        kind: 'test.kind',
        payload: ['ä€😀', { none: null }],
        run_at: '2030-01-31T09:00:00.123456+01:00',
        priority: -5,
        queue: 'mail',
        subject: 'invoice:7',
        max_attempts: 2,
        id: id.toUpperCase(),
        request_id: 'r',
        traceparent: 't',
      },
      { kind: 'other.kind', payload: null, delay_seconds: 90.5, unique_while: null, replace: null, queue: null },
    ]);
    expect(made).toEqual({ index: 0, id, outcome: 'created', pruned: false });
    expect(await rowOf(db, id)).toMatchObject({ payload: ['ä€😀', { none: null }] });
    expect(await liveRowOf(db, id)).toMatchObject({
      kind: 'test.kind',
      run_at: new Date('2030-01-31T08:00:00.123Z'),
      priority: -5,
      queue: 'mail',
      subject: 'invoice:7',
      max_attempts: 2,
      payload_bytes: Buffer.byteLength('["ä€😀", {"none": null}]'),
      idempotency_key: null,
      unique_key: null,
      request_id: 'r',
      traceparent: 't',
    });
    const { rows } = await db.query(
      `SELECT kind, queue, priority, max_attempts, payload, round(extract(epoch FROM run_at - created_at), 1)::float8 AS delay
       FROM millrace.jobs WHERE id = $1`,
      [delayed?.id],
    );
    expect(rows).toEqual([
      { kind: 'other.kind', queue: 'default', priority: 0, max_attempts: 5, payload: null, delay: 90.5 },
    ]);
  });

  test.for([
    ['an idempotency key', { idempotency_key: 'i' }],
    ['a unique key', { unique_key: 'u' }],
    ['no key', {}],
  ] as const)('jobs with new, known, repeated ids or none go in once, beside %s', async ([, fields], { db }) => {
    const running = await processingJob(db);
    const dead = await deadJob(db);
    await db.query('DELETE FROM millrace.payloads WHERE id = $1', [dead.id]);
    // The later id is the smaller one, so that an order by ids would show.
    const [low, high] = [randomUUID(), randomUUID()].sort() as [string, string];
    const jobs = [undefined, high, running.id, undefined, dead.id, low, high, undefined].map((id, n) => ({
      kind: `kind.${n}`,
      payload: n,
      id,
    }));
    const answer = await enqueueMany(db, [...jobs, { kind: 'kind.8', payload: 8, ...fields }]);
    expect(answer.map(({ index, outcome, pruned }) => [index, outcome, pruned])).toEqual(
      answer.map((_, n) => [n, 'created', false]),
    );
    for (const [n, { id }] of jobs.entries()) if (id !== undefined) expect(answer[n]?.id).toBe(id);
    const { rows } = await db.query(
      `SELECT payload FROM millrace.jobs WHERE status = 'pending' AND kind <> 'kind.8' ORDER BY run_at`,
    );
    expect(rows.map(({ payload }) => payload)).toEqual([0, 1, 3, 5, 7]);
    expect(await rowOf(db, answer[8]?.id)).toMatchObject({ kind: 'kind.8', payload: 8, status: 'pending' });
    expect(await statusOf(db, running.id)).toBe('processing');
    expect(await statusOf(db, dead.id)).toBe('dead');
    expect(await counterOf(db, 'kind.1', 'enqueued')).toBe(1);
    expect(await counterOf(db, 'kind.6', 'enqueued')).toBe(0);
  });
});

const NAMED = 'must be 1 to 100 of A-Z a-z 0-9 . _ : - and begin with a letter or digit';
const FLAWS: [what: string, item: unknown, says: string][] = [
  ['a number for a job', 7, 'jobs[1] must be an object'],
  ['a list for a job', [], 'jobs[1] must be an object'],
  ['null for a job', null, 'jobs[1] must be an object'],
  ['an unknown field', { ...job, prioriti: 1 }, 'jobs[1].prioriti is not a field that is known here'],
  ['no kind', { payload: 1 }, 'jobs[1].kind is required'],
  ...[7, '', 'a b', '.a', `a${'x'.repeat(100)}`, 'a\n', 'ä'].map((kind): [string, unknown, string] => [
    `the kind ${JSON.stringify(kind).slice(0, 20)}`,
    { kind },
    `jobs[1].kind ${NAMED}`,
  ]),
  ...['', 'a b', 7, 'x'.repeat(101)].map((queue): [string, unknown, string] => [
    `the queue ${JSON.stringify(queue).slice(0, 20)}`,
    { ...job, queue },
    `jobs[1].queue ${NAMED}`,
  ]),
  ...[6, -6, 1.5, '1', 1e300, [1]].map((priority): [string, unknown, string] => [
    `the priority ${JSON.stringify(priority)}`,
    { ...job, priority },
    'jobs[1].priority must be a whole number from -5 to 5',
  ]),
  ...[0, 1001, 2.5, 'x'].map((max_attempts): [string, unknown, string] => [
    `max_attempts ${JSON.stringify(max_attempts)}`,
    { ...job, max_attempts },
    'jobs[1].max_attempts must be a whole number from 1 to 1000',
  ]),
  ...[
    'infinity',
    'now',
    'tomorrow',
    '',
    7,
    '2030-02-30T08:00:00Z',
    '2030-01-31T08:00:00',
    '2030-01-31',
    '999999-01-01T00:00:00Z',
    '2030-01-31T08:00:00+99:00',
  ].map((run_at): [string, unknown, string] => [
    `run_at ${JSON.stringify(run_at)}`,
    { ...job, run_at },
    'jobs[1].run_at must be a time with its zone, such as 2030-01-31T08:00:00Z',
  ]),
  ...[-1, 315_360_001, 'soon', 1e300].map((delay_seconds): [string, unknown, string] => [
    `delay_seconds ${JSON.stringify(delay_seconds)}`,
    { ...job, delay_seconds },
    'jobs[1].delay_seconds must be a number from 0 to 315360000',
  ]),
  [
    'run_at and delay_seconds',
    { ...job, run_at: '2030-01-31T08:00:00Z', delay_seconds: 1 },
    'jobs[1].delay_seconds excludes run_at: give one of the two',
  ],
  ...[
    '',
    'x',
    7,
    '0195c9f0-0000-7000-8000-00000000000',
    '0195c9f0-0000-7000-8000-00000000000g',
    '0195c9f000007-0008-000-000-000000000',
    '--------------------0195c9f0-0000-700',
  ].map((id): [string, unknown, string] => [
    `the id ${JSON.stringify(id)}`,
    { ...job, id },
    'jobs[1].id must be a UUID',
  ]),
  ...['subject', 'idempotency_key', 'unique_key', 'request_id', 'traceparent'].flatMap((field) =>
    ['', 'ü'.repeat(256), 7, {}].map((value): [string, unknown, string] => [
      `${field} ${JSON.stringify(value).slice(0, 10)}`,
      { ...job, [field]: value },
      `jobs[1].${field} must have 1 to 255 characters`,
    ]),
  ),
  ...['dead', 7].map((unique_while): [string, unknown, string] => [
    `unique_while ${unique_while}`,
    { ...job, unique_key: 'u', unique_while },
    'jobs[1].unique_while must be pending or live',
  ]),
  ...['payload', ['kind'], {}, [['payload']]].map((replace): [string, unknown, string] => [
    `replace ${JSON.stringify(replace)}`,
    { ...job, unique_key: 'u', replace },
    'jobs[1].replace must be an array of payload and run_at',
  ]),
  ...[{ unique_while: 'live' }, { unique_while: 'pending' }, { replace: ['payload'] }, { replace: [] }].map(
    (fields): [string, unknown, string] => [
      `${JSON.stringify(fields)} without a unique_key`,
      { ...job, ...fields },
      'jobs[1].unique_key is missing, which unique_while and replace need',
    ],
  ),
];

describe('a bad item is named, and nothing is stored', () => {
  test.for(FLAWS)('%s', async ([, item, message], { db }) => {
    const keyed = { ...job, idempotency_key: 'i', unique_key: 'u' };
    for (const first of [keyed, job]) {
      await expect(enqueueMany(db, [first, item, job])).rejects.toMatchObject({ code: '22023', message });
    }
    expect(await stored(db)).toBe(0);
  });

  test('the first of several, by number and not by text', async ({ db }) => {
    const jobs = Array.from({ length: 12 }, (_, n) => (n === 2 || n === 10 ? { ...job, priority: 6 } : job));
    await expect(enqueueMany(db, jobs)).rejects.toThrow(/^jobs\[2\]\.priority/);
    const unknown = jobs.map((item, n) => (n === 3 || n === 11 ? { ...item, zeta: 1, alpha: 1 } : item));
    await expect(enqueueMany(db, unknown)).rejects.toThrow(/^jobs\[3\]\.alpha is not a field/);
  });

  test.for([null, 7, {}, 'x'])('%j is no list', async (jobs, { db }) => {
    await expect(enqueueMany(db, jobs)).rejects.toMatchObject({
      code: '22023',
      message: 'jobs must be an array of objects',
    });
  });

  test('SQL NULL is no list either', async ({ db }) => {
    await expect(db.query('SELECT * FROM millrace.enqueue_many(NULL)')).rejects.toMatchObject({ code: '22023' });
  });

  test('1,001 jobs are too many', async ({ db }) => {
    await expect(insertJobs(db, Array(1001).fill(job))).rejects.toMatchObject({
      code: '22023',
      message: 'jobs has 1001 items and may have 1000',
    });
  });

  test('a payload of more than 4 MiB as Postgres writes it takes all of them with it', async ({ db }) => {
    const large = { ...job, payload: Array(15_000).fill(1e308) };
    for (const first of [{ ...job, idempotencyKey: 'i' }, job]) {
      const many = insertJobs(db, [first, large, job]);
      await expect(many).rejects.toMatchObject({ code: '23514', constraint: 'live_jobs_payload_bytes_check' });
    }
    expect(await stored(db)).toBe(0);
  });

  test.for(['a\0b', '\ud800'])(
    'text that Postgres cannot hold (%j) is refused wherever it stands',
    async (text, { db }) => {
      for (const field of ['payload', 'subject', 'idempotencyKey', 'uniqueKey', 'requestId']) {
        await expect(insertJobs(db, [{ ...job, [field]: text }]), field).rejects.toMatchObject({
          code: expect.stringMatching(/^22P0[25]$/),
        });
      }
      expect(await stored(db)).toBe(0);
    },
  );

  test('characters count, not bytes: 255 of four bytes each are taken', async ({ db }) => {
    const long = '\u{1F680}'.repeat(255);
    const keys = { subject: long, idempotencyKey: long, uniqueKey: long, requestId: long, traceparent: long };
    const made = await insertJobs(db, [{ ...job, ...keys }]);
    expect(await insertJobs(db, [{ ...job, idempotencyKey: long }])).toEqual([
      { id: made[0]?.id, outcome: 'replayed', pruned: false },
    ]);
  });
});
