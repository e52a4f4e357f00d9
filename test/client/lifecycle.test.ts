import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { Client } from '../../client/index.ts';
import type { contracts } from '../../functions/jobs/contracts.ts';
import type { Role } from '../../functions/lambda/role.ts';
import { deadJob, finishedJob, processingJob } from '../support/factories.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { describe, expect, type Runtime, test } from './runtime.ts';
import { all, failureOf } from './server.ts';

const clientOf = ({ url, tokens }: Runtime, role: Role = 'operator') =>
  new Client<typeof contracts>({ url, token: tokens[role] });

const HOUR = { delaySeconds: 3600 };

async function jobsAbout(db: pg.Pool, subject: string) {
  const { rows } = await db.query('SELECT id, status, request_id FROM millrace.jobs WHERE subject = $1', [subject]);
  return rows;
}

describe('every method, against the project itself', { timeout: 180_000 }, () => {
  test('a job goes its way: enqueue, wait, read, list, count, erase', async ({ api, db }) => {
    const client = clientOf(api);
    const subject = randomUUID();
    const trace = { requestId: `req/${subject}`, traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` };
    const { id, outcome, pruned, job } = await client.enqueue(
      'hello.greet',
      { name: 'Ada' },
      { subject, priority: 5, ...trace },
    );
    expect({ outcome, pruned }).toEqual({ outcome: 'created', pruned: false });
    expect(job).toMatchObject({ id, subject, priority: 5, requestId: trace.requestId, maxAttempts: 5, errors: [] });

    const ended = await client.waitFor(id, { timeoutSeconds: 30 });
    expect(ended).toMatchObject({ id, status: 'completed', attempts: 1, result: { greeting: 'Hello, Ada!' } });

    const read = await client.get(id, { include: ['payload', 'result'] });
    expect(read).toMatchObject({ payload: { name: 'Ada' }, result: { greeting: 'Hello, Ada!' }, progress: null });
    expect(Object.keys(await client.get(id))).not.toContain('payload');

    expect(await all(client.list({ subject, kind: 'hello.greet', status: 'completed' }))).toMatchObject([
      { id, lastError: null },
    ]);
    expect(await all(client.list({ subject, createdAfter: new Date(Date.now() + 60_000) }))).toEqual([]);
    expect(await client.counts({ subject, status: 'completed' })).toEqual({
      counts: { completed: 1 },
      countsLimit: 1000,
    });

    await client.erase(id);
    expect(await failureOf(client.get(id))).toMatchObject({ code: 'no-such-job', status: 404 });
    expect(await jobsAbout(db, subject)).toEqual([]);
  });

  test('keys: idempotent, reused, unique, replaced', async ({ api, db }) => {
    const client = clientOf(api);
    const key = { idempotencyKey: `käse ${randomUUID()}`, ...HOUR };
    const first = await client.enqueue('hello.greet', { name: 'Ada' }, key);
    expect(await client.enqueue('hello.greet', { name: 'Ada' }, key)).toMatchObject({
      id: first.id,
      outcome: 'replayed',
    });
    expect(await failureOf(client.enqueue('hello.greet', { name: 'Grace' }, key))).toMatchObject({
      code: 'idempotency-key-reused',
      status: 422,
    });

    const unique = { uniqueKey: randomUUID(), ...HOUR };
    const one = await client.enqueue('hello.greet', { name: 'Ada' }, unique);
    expect(one).toMatchObject({ outcome: 'created', job: { uniqueKey: unique.uniqueKey } });
    expect(await client.enqueue('hello.greet', { name: 'Grace' }, unique)).toMatchObject({
      id: one.id,
      outcome: 'kept',
    });
    const replace = ['payload', 'run_at'] as const;
    expect(await client.enqueue('hello.greet', { name: 'Grace' }, { ...unique, replace })).toMatchObject({
      id: one.id,
      outcome: 'replaced',
    });
    const { rows } = await db.query('SELECT payload FROM millrace.jobs WHERE id = $1', [one.id]);
    expect(rows).toEqual([{ payload: { name: 'Grace' } }]);
  });

  test('a batch: in order, all or none, bad items named', async ({ api, db }) => {
    const client = clientOf(api);
    const subject = randomUUID();
    const item = (name: string) => ({ kind: 'hello.greet', payload: { name }, subject, ...HOUR }) as const;
    const names = Array.from({ length: 1000 }, (_, n) => `n${n}`);
    const made = await client.enqueueMany(names.map(item));
    expect(new Set(made.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
    const { rows } = await db.query(`SELECT id, payload ->> 'name' AS name FROM millrace.jobs WHERE subject = $1`, [
      subject,
    ]);
    const nameOf = new Map(rows.map(({ id, name }) => [id, name]));
    expect(made.map(({ id }) => nameOf.get(id))).toEqual(names);

    const other = randomUUID();
    const bad = [item('Ada'), item(''), item('Grace')].map((one) => ({ ...one, subject: other }));
    const error = await failureOf(client.enqueueMany(bad));
    expect(error).toMatchObject({ code: 'invalid-job', errors: [{ index: 1, pointer: '/jobs/1/payload/name' }] });
    expect(error.message).toContain('/jobs/1/payload/name');
    expect(await jobsAbout(db, other)).toEqual([]);
  });

  test('a listing by pages meets each job once, while others come in', async ({ api }) => {
    const client = clientOf(api, 'producer');
    const subject = randomUUID();
    const enqueue = () =>
      client.enqueueMany(['a', 'b', 'c'].map((name) => ({ kind: 'hello.greet', payload: { name }, subject })));
    const ids = [...(await enqueue()), ...(await enqueue())].map(({ id }) => id);
    const met: string[] = [];
    for await (const { jobs } of client.list({ subject, limit: 2 }).pages()) {
      met.push(...jobs.map(({ id }) => id));
      await enqueue();
    }
    expect(met).toEqual([...ids].sort().reverse());
  });

  test('cancel, redrive and what they refuse', async ({ api, db }) => {
    const client = clientOf(api);
    const { id } = await client.enqueue('hello.greet', { name: 'Ada' }, HOUR);
    expect(await client.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    const running = await processingJob(db);
    expect(await client.cancel(running.id)).toMatchObject({
      status: 'processing',
      cancelRequestedAt: expect.any(String),
    });
    expect(await failureOf(client.redrive(id))).toMatchObject({
      code: 'wrong-state',
      status: 409,
      problem: { job_status: 'cancelled' },
    });
    const dead = await deadJob(db, { kind: 'nobody.has' });
    expect(await client.redrive(dead.id)).toMatchObject({ id: dead.id, status: 'pending', attempts: 0 });
    expect(await failureOf(client.erase(dead.id))).toMatchObject({ code: 'wrong-state' });
    expect(await failureOf(client.cancel(randomUUID()))).toMatchObject({ code: 'no-such-job', status: 404 });
    expect(await failureOf(client.cancel('x'))).toMatchObject({ code: 'invalid-id', status: 400 });
  });

  test('redriveMany: counted, step by step, all of them', async ({ api, db }) => {
    const untyped = new Client({ url: api.url, token: api.tokens.operator });
    const kind = `many.${randomUUID()}`;
    for (let n = 0; n < 5; n++)
      await deadJob(db, { kind, errors: [{ name: 'Error', message: 'connect ECONNREFUSED' }] });
    await deadJob(db, { kind, errors: [{ name: 'Error', message: 'no such thing' }] });
    const filter = { kind, error: 'econnrefused', deadBefore: new Date(Date.now() + 60_000), limit: 2 };
    expect(await untyped.redriveMany({ ...filter, dryRun: true })).toEqual({ redriven: 0, skipped: 0, matched: 5 });
    const steps = await all(untyped.redriveSteps(filter));
    expect(steps.map(({ redriven }) => redriven).reduce((a, b) => a + b)).toBe(5);
    expect(steps.length).toBeGreaterThan(2);
    expect(await untyped.redriveMany({ kind })).toEqual({ redriven: 1, skipped: 0, matched: 0 });
    expect(await failureOf(untyped.redriveMany({}))).toMatchObject({ code: 'invalid-filter', status: 422 });
  });

  test('pause, resume and ready', async ({ api }) => {
    const client = clientOf(api);
    expect(await client.pause({ kind: 'github.webhook' })).toEqual({ kind: 'github.webhook', paused: true });
    expect(await client.pause({ queue: 'slow' })).toEqual({ queue: 'slow', paused: true });
    expect((await client.ready()).paused).toEqual([
      { scope: 'kind', name: 'github.webhook' },
      { scope: 'queue', name: 'slow' },
    ]);
    expect(await client.resume({ kind: 'github.webhook' })).toEqual({ kind: 'github.webhook', paused: false });
    expect(await client.resume({ queue: 'slow' })).toEqual({ queue: 'slow', paused: false });
    expect(await client.ready()).toMatchObject({ status: 'ready', paused: [], lagSeconds: expect.any(Number) });
    expect(await failureOf(client.pause({ queue: 'no queue' }))).toMatchObject({ code: 'invalid-name', status: 400 });
  });

  test('schedules: seen, paused, and fired by hand', async ({ api, db }) => {
    const client = clientOf(api);
    const name = await declaredSchedule(db, { name: 'greet.daily', kind: 'hello.greet', payload: { name: 'Ada' } });
    expect(await client.pause({ schedule: name })).toEqual({ schedule: name, paused: true });
    expect(await client.schedules()).toMatchObject([
      { name, cron: '0 2 * * *', every: null, paused: true, catchUp: 'latest', lastFireAt: null },
    ]);
    const { id, requestId } = await client.fire(name);
    expect(requestId).toMatch(/^schedule\/greet\.daily\//);
    expect(await client.waitFor(id)).toMatchObject({ status: 'completed', result: { greeting: 'Hello, Ada!' } });
    await db.query('UPDATE millrace.schedules SET queue = $1', ['served.by.nobody']);
    const waiting = await client.fire(name);
    expect(await failureOf(client.fire(name))).toMatchObject({
      code: 'schedule-overlap',
      status: 409,
      problem: { job_id: waiting.id },
    });
    expect(await client.resume({ schedule: name })).toEqual({ schedule: name, paused: false });
    expect(await failureOf(client.fire('no.such'))).toMatchObject({ code: 'no-such-schedule', status: 404 });
    expect(await failureOf(clientOf(api, 'producer').schedules())).toMatchObject({ code: 'forbidden' });
  });

  test('a role may do what it may do', async ({ api }) => {
    const producer = clientOf(api, 'producer');
    const { id } = await producer.enqueue('hello.greet', { name: 'Ada' });
    expect(await producer.waitFor(id, { include: [] })).toMatchObject({ status: 'completed' });
    expect(await failureOf(producer.waitFor(id))).toMatchObject({
      code: 'forbidden',
      status: 403,
      type: /problem:forbidden$/,
    });
    expect(await clientOf(api, 'reader').waitFor(id)).toMatchObject({ result: { greeting: 'Hello, Ada!' } });
    expect(await failureOf(clientOf(api, 'reader').cancel(id))).toMatchObject({ code: 'forbidden' });
    expect(await failureOf(new Client({ url: api.url }).get(id))).toMatchObject({ code: 'unauthorized', status: 401 });
    const stranger = new Client({ url: api.url, token: `mlr_${'x'.repeat(43)}` });
    expect(await failureOf(stranger.get(id))).toMatchObject({ code: 'forbidden', status: 403, type: undefined });
  });
});

describe('a lost answer', { timeout: 180_000 }, () => {
  const requestsTo = ({ seen }: Runtime, targetEnd: string) => seen.filter(({ target }) => target.endsWith(targetEnd));

  test('to an enqueue makes no second job', async ({ api, db }) => {
    const subject = randomUUID();
    api.loseAnswerTo('POST', '/jobs');
    const { id, outcome, job } = await clientOf(api).enqueue('hello.greet', { name: 'Ada' }, { subject });
    expect(await jobsAbout(db, subject)).toMatchObject([{ id, request_id: job?.requestId }]);
    expect(outcome).toBe('created');
    const tries = api.seen.filter(({ text }) => text.includes(subject));
    expect(tries).toHaveLength(2);
    expect(tries[1]?.text).toBe(tries[0]?.text);
  });

  test('to most of many at once, some of them twice, makes one job of each', async ({ api, db }) => {
    const subject = randomUUID();
    const client = clientOf(api);
    for (let n = 0; n < 20; n++) api.loseAnswerTo('POST', '/jobs');
    const names = Array.from({ length: 16 }, (_, n) => `n${n}`);
    const made = await Promise.all(names.map((name) => client.enqueue('hello.greet', { name }, { subject })));
    const stored = await jobsAbout(db, subject);
    expect(stored.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
    expect(new Set(made.map(({ id }) => id)).size).toBe(16);
  });

  test('to a batch makes no second batch', async ({ api, db }) => {
    const subject = randomUUID();
    api.loseAnswerTo('POST', '/jobs/batch');
    const jobs = ['Ada', 'Grace'].map((name) => ({ kind: 'hello.greet', payload: { name }, subject }) as const);
    const made = await clientOf(api).enqueueMany(jobs);
    expect(made.map(({ outcome }) => outcome)).toEqual(['created', 'created']);
    const stored = await jobsAbout(db, subject);
    expect(stored.map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
  });

  test('to a cancel, redrive or erase is answered as the first time', async ({ api, db }) => {
    const client = clientOf(api);
    const { id } = await client.enqueue('hello.greet', { name: 'Ada' }, HOUR);
    api.loseAnswerTo('POST', `${id}/cancel`);
    expect(await client.cancel(id)).toMatchObject({ status: 'cancelled' });
    expect(requestsTo(api, `${id}/cancel`)).toHaveLength(2);

    const dead = await deadJob(db, { kind: 'nobody.has' });
    api.loseAnswerTo('POST', `${dead.id}/redrive`);
    expect(await client.redrive(dead.id)).toMatchObject({ status: 'pending' });
    expect(requestsTo(api, `${dead.id}/redrive`)).toHaveLength(2);

    const finished = await finishedJob(db);
    api.loseAnswerTo('DELETE', finished.id);
    await client.erase(finished.id);
    expect(requestsTo(api, finished.id)).toHaveLength(2);

    // One intervention each.
    const { rows } = await db.query(
      `SELECT action, count(*)::int FROM millrace.operator_log WHERE target ->> 'id' = ANY ($1) GROUP BY 1 ORDER BY 1`,
      [[id, dead.id, finished.id]],
    );
    expect(rows).toEqual(['cancel', 'erase', 'redrive'].map((action) => ({ action, count: 1 })));
  });

  test('but a later call on the same job is told how it stands', async ({ api, db }) => {
    const client = clientOf(api);
    const dead = await deadJob(db, { kind: 'nobody.has' });
    await client.redrive(dead.id);
    expect(await failureOf(client.redrive(dead.id))).toMatchObject({
      code: 'wrong-state',
      problem: { job_status: 'pending' },
    });
  });

  test('to a step of redriveMany leaves no job behind and counts none twice', async ({ api, db }) => {
    const untyped = new Client({ url: api.url, token: api.tokens.operator });
    const kind = `lost.${randomUUID()}`;
    for (let n = 0; n < 4; n++) await deadJob(db, { kind });
    api.loseAnswerTo('POST', '/jobs/redrive');
    expect(await untyped.redriveMany({ kind, limit: 2 }, { requestId: kind })).toEqual({
      redriven: 4,
      skipped: 0,
      matched: 0,
    });
    expect(await untyped.counts({ kind, status: 'pending' })).toMatchObject({ counts: { pending: 4 } });
  });

  test('to a pause or a listing is asked for again', async ({ api }) => {
    const client = clientOf(api);
    api.loseAnswerTo('POST', '/queues/slow/pause');
    expect(await client.pause({ queue: 'slow' })).toMatchObject({ paused: true });
    api.loseAnswerTo('POST', '/queues/slow/resume');
    expect(await client.resume({ queue: 'slow' })).toMatchObject({ paused: false });
    const subject = randomUUID();
    await client.enqueueMany(
      ['a', 'b', 'c'].map((name) => ({ kind: 'hello.greet', payload: { name }, subject, ...HOUR })),
    );
    api.loseAnswerTo('GET', `subject=${subject}&limit=2`);
    expect(await all(client.list({ subject, limit: 2 }))).toHaveLength(3);
  });
});
