import { rowOf } from '../support/factories.ts';
import { describe, expect, expectProblem, test } from './api.ts';

const GREETING = { kind: 'hello.greet', payload: { name: 'Ada' } };

describe('POST /jobs', () => {
  test('puts a job in and answers with it', async ({ call, db }) => {
    const answer = await call('POST', '/jobs', {
      body: { ...GREETING, subject: 'user:7', priority: 3, queue: 'slow', max_attempts: 2 },
    });

    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', location: `/jobs/${answer.body.id}` });
    expect(answer.body).toMatchObject({
      kind: 'hello.greet',
      status: 'pending',
      subject: 'user:7',
      priority: 3,
      queue: 'slow',
      attempts: 0,
      max_attempts: 2,
      errors: [],
      started_at: null,
      finished_at: null,
    });
    expect(answer.body).not.toHaveProperty('payload');
    expect(answer.body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(await rowOf(db, answer.body.id)).toMatchObject({ status: 'pending', payload: { name: 'Ada' } });
  });

  test('takes queue and attempts from the contract', async ({ call }) => {
    const { body } = await call('POST', '/jobs', {
      body: { kind: 'github.webhook', payload: { event: 'push', delivery: {} } },
    });
    expect(body).toMatchObject({ queue: 'default', max_attempts: 20, priority: 0, subject: null });
  });

  test('keeps run_at to the microsecond, in UTC', async ({ call, db }) => {
    const { body } = await call('POST', '/jobs', {
      body: { ...GREETING, run_at: '2031-05-06T01:02:03.123456789+02:00' },
    });
    expect(body.run_at).toBe('2031-05-05T23:02:03.123456Z');
    const { rows } = await db.query(`SELECT run_at = '2031-05-05T23:02:03.123456Z' AS same FROM millrace.live_jobs`);
    expect(rows).toEqual([{ same: true }]);
  });

  test('counts delay_seconds on the clock of the database', async ({ call, db }) => {
    const { status } = await call('POST', '/jobs', { body: { ...GREETING, delay_seconds: 3600.5 } });
    expect(status).toBe(201);
    const { rows } = await db.query(
      `SELECT run_at - clock_timestamp() BETWEEN interval '3590 s' AND interval '3601 s' AS ok FROM millrace.live_jobs`,
    );
    expect(rows).toEqual([{ ok: true }]);
  });

  test('takes a past run_at as due now', async ({ call }) => {
    const { body } = await call('POST', '/jobs', { body: { ...GREETING, run_at: '1970-01-01T00:00:00Z' } });
    expect(Date.parse(body.run_at)).toBeGreaterThan(Date.now() - 60_000);
  });

  test('stores the payload as it was sent, fields that the contract does not name included', async ({ call, db }) => {
    const payload = { name: 'Ada', more: { ünï: ['\u{1F680}', 1.5e300, -0.1, true, null, ''] } };
    const { body } = await call('POST', '/jobs', { body: { kind: 'hello.greet', payload } });
    expect((await rowOf(db, body.id))?.payload).toEqual(payload);
  });

  test('reads a base64 body, a charset and other JSON types', async ({ call }) => {
    const types = [
      'application/json; charset=utf-8',
      'Application/JSON;charset="UTF-8"',
      'application/cloudevents+json',
      'application/json; profile="https://example.org/a"; charset=utf-8',
      'application/json;',
    ];
    for (const type of types) {
      const answer = await call('POST', '/jobs', { body: GREETING, base64: true, headers: { 'content-type': type } });
      expect(answer.status, type).toBe(201);
    }
  });

  test('keeps a U+FFFD that was sent as such', async ({ call, db }) => {
    const text = '{"kind": "hello.greet", "payload": {"name": "\ufffd"}}';
    const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) };
    const { status, body } = await call('POST', '/jobs', { body: text, headers });
    expect(status).toBe(201);
    expect((await rowOf(db, body.id))?.payload).toEqual({ name: '\ufffd' });
  });

  test('takes 256 KiB also where every letter is escaped, as clients write that keep to ASCII', async ({ call }) => {
    const body = `{"kind": "hello.greet", "payload": {"name": "Ada", "fill": "${'\\u044f'.repeat(131_000)}"}}`;
    expect((await call('POST', '/jobs', { body })).status).toBe(201);
  });

  test('takes a payload of exactly 256 KiB, and no byte more', async ({ call }) => {
    const sized = (bytes: number) => {
      const rest = JSON.stringify({ name: 'Ada', fill: '' }).length;
      return { kind: 'hello.greet', payload: { name: 'Ada', fill: 'x'.repeat(bytes - rest) } };
    };
    expect((await call('POST', '/jobs', { body: sized(262_144) })).status).toBe(201);
    expect((await call('POST', '/jobs', { body: sized(262_145) })).status).toBe(413);
  });

  test('refuses a payload that Postgres would write as more than 4 MiB, and stores nothing', async ({ call, db }) => {
    const payload = { name: 'Ada', zeros: Array(37_000).fill(1e308) };
    const answer = await call('POST', '/jobs', { body: { kind: 'hello.greet', payload } });
    expectProblem(answer, 413, 'too-large');
    expect(answer.body.detail).toContain('4 MiB');
    expect((await db.query('SELECT FROM millrace.payloads')).rowCount).toBe(0);
  });

  test('measures the payload in bytes as compact JSON: white space in the request does not count', async ({ call }) => {
    const payload = { name: 'Ada', list: Array.from({ length: 16_000 }, () => [1]) };
    const spaced = JSON.stringify({ kind: 'hello.greet', payload }, null, 2);
    expect(spaced.length).toBeGreaterThan(262_144);
    expect((await call('POST', '/jobs', { body: spaced })).status).toBe(201);
    const wide = { kind: 'hello.greet', payload: { name: 'Ada', fill: 'ü'.repeat(131_100) } };
    expect((await call('POST', '/jobs', { body: wide })).status).toBe(413);
  });
});
