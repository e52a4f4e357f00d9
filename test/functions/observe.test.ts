import { readdirSync } from 'node:fs';
import { SCHEMA_VERSION } from '../../functions/lambda/schema-version.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, expectProblem, test } from './api.ts';

describe('GET /health', () => {
  test('answers without a database', async ({ call }) => {
    delete process.env.DATABASE_URL;
    const answer = await call('GET', '/health');
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: 'ok' });
  });
});

describe('GET /ready', () => {
  test('says what a person would look at next', async ({ call, db }) => {
    await pendingJob(db, { kind: 'nobody.has.it', dueInSeconds: -30 });
    await pendingJob(db, { kind: 'later.one', dueInSeconds: 60 });
    await pendingJob(db, { kind: 'served', dueInSeconds: -5, queue: 'unserved' });
    await db.query(`INSERT INTO millrace.pauses (scope, name) VALUES ('kind', 'served')`);
    await db.query(
      `INSERT INTO millrace.claim_marks (queue, kinds_hash, kinds, marks, rescanned_at)
       VALUES ('default', gen_random_uuid(), '{served}', array_fill(now(), '{11}'), now() - interval '1 minute'),
              ('default', gen_random_uuid(), '{nobody.has.it}', array_fill(now(), '{11}'), now() - interval '3 minutes')`,
    );
    const { status, body } = await call('GET', '/ready');
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'ready',
      schema_version: SCHEMA_VERSION,
      lag_seconds: expect.any(Number),
      paused: [{ scope: 'kind', name: 'served' }],
      unclaimed_kinds: ['nobody.has.it'],
      unclaimed_queues: ['unserved'],
      last_worker_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(body.lag_seconds).toBeGreaterThan(29);
  });

  test('has nothing to say of an empty queue', async ({ call }) => {
    const { body } = await call('GET', '/ready');
    expect(body).toMatchObject({
      lag_seconds: 0,
      paused: [],
      unclaimed_kinds: [],
      unclaimed_queues: [],
      last_worker_at: null,
    });
  });

  test('knows the newest migration', () => {
    const files = readdirSync(new URL('../../migrations/', import.meta.url)).filter((file) => file.endsWith('.sql'));
    expect(files.sort().at(-1)).toMatch(new RegExp(`^0*${SCHEMA_VERSION}_`));
  });

  test('is not ready on an older schema, and is on a newer one', async ({ call, db }) => {
    await db.query('DELETE FROM millrace.migrations WHERE version = $1', [SCHEMA_VERSION]);
    try {
      expectProblem(await call('GET', '/ready'), 503, 'schema-outdated');
    } finally {
      await db.query(`INSERT INTO millrace.migrations (version, file, checksum) VALUES ($1, 'f', 'c')`, [
        SCHEMA_VERSION,
      ]);
    }
    await db.query(`INSERT INTO millrace.migrations (version, file, checksum) VALUES (999, 'f', 'c')`);
    try {
      expect((await call('GET', '/ready')).body).toMatchObject({ status: 'ready', schema_version: 999 });
    } finally {
      await db.query('DELETE FROM millrace.migrations WHERE version = 999');
    }
  });
});

describe('GET /metrics', () => {
  test('is Prometheus text: depth and age by kind and status, totals that only grow', async ({ call, db }) => {
    await pendingJob(db, { kind: 'a', dueInSeconds: -30 });
    await pendingJob(db, { kind: 'a', dueInSeconds: 60 });
    await processingJob(db, { kind: 'a' });
    await finishedJob(db, { kind: 'a' });
    await deadJob(db, { kind: 'b' });
    const { status, headers, text } = await call('GET', '/metrics');

    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const samples = new Map(
      text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => line.split(/ (?=[^ ]+$)/) as [string, string]),
    );
    expect(samples.get('millrace_jobs{kind="a",status="pending"}')).toBe('2');
    expect(samples.get('millrace_jobs{kind="a",status="processing"}')).toBe('1');
    expect(samples.get('millrace_jobs{kind="a",status="dead"}')).toBe('0');
    expect(samples.get('millrace_jobs{kind="b",status="dead"}')).toBe('1');
    expect(samples.get('millrace_jobs{kind="b",status="pending"}')).toBe('0');
    expect(Number(samples.get('millrace_oldest_due_age_seconds{kind="a"}'))).toBeGreaterThan(29);
    expect(samples.get('millrace_oldest_due_age_seconds{kind="b"}')).toBe('0');
    expect(samples.get('millrace_jobs_enqueued_total{kind="a"}')).toBe('4');
    expect(samples.get('millrace_jobs_completed_total{kind="a"}')).toBe('1');
    expect(samples.get('millrace_jobs_buried_total{kind="b"}')).toBe('1');
    expect(samples.get('millrace_kinds_truncated')).toBe('0');

    // The grammar of the format: every sample belongs to a family that was declared, and lines end.
    const declared = [...text.matchAll(/^# TYPE (\S+) (gauge|counter)$/gm)].map(([, name]) => name);
    for (const sample of samples.keys()) expect(declared).toContain(sample.replace(/\{.*/, ''));
    for (const name of declared) expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
    expect(text.endsWith('\n')).toBe(true);
  });
});
