import { randomUUID } from 'node:crypto';
import { deadJob, finishedJob, processingJob } from '../support/factories.ts';
import { describe, expect, test, WAYS } from './looking.ts';

const ERRORS = [
  {
    attempt: 1,
    started_at: '2026-11-29T10:00:00.000Z',
    failed_at: '2026-11-29T10:00:01.500Z',
    where: 'worker:1',
    name: 'TypeError',
    message: 'no\nsuch \x1b[31mfield',
    stack: '    at first (a.ts:1)\n    at second (b.ts:2)',
  },
  { attempt: 2, failed_at: '2026-11-29T10:01:00.000Z', name: 'LeaseExpired', message: 'the worker died' },
];

describe.for(WAYS)('millrace show over %s', (way) => {
  test('tells everything of a job, with the error of each attempt', async ({ db, look }) => {
    const { id } = await deadJob(db, {
      subject: 'order:7',
      errors: ERRORS,
      attempts: 2,
      maxAttempts: 2,
      requestId: 'req/1',
    });
    const { code, stdout, stderr } = await look(way, 'show', id);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(`^id {16}${id}\nstatus {12}dead\nkind {14}test.kind\nqueue {13}default\nsubject {11}order:7\n`),
    );
    expect(stdout).toContain('attempts          2 of 2\n');
    expect(stdout).toContain('request           req/1\n');
    expect(stdout).toContain(
      [
        'attempt 1  2026-11-29T10:00:01.500Z  after 1s  in worker:1',
        '  TypeError: no',
        '  such \\x1b[31mfield',
        '',
        'attempt 2  2026-11-29T10:01:00.000Z',
        '  LeaseExpired: the worker died',
      ].join('\n'),
    );
    expect(stdout).not.toContain('at second');
    expect((await look(way, 'show', id, '--stack')).stdout).toContain('      at second (b.ts:2)\n');
  });

  test('shows payload and result if asked for', async ({ db, look }) => {
    const { id } = await finishedJob(db, { payload: { camelCase: 1, snake_case: [2] }, result: { ok: true } });
    expect((await look(way, 'show', id)).stdout).not.toMatch(/payload|result|camelCase/);
    const { stdout } = await look(way, 'show', id, '--payload', '--result');
    expect(stdout).toContain('\npayload\n  {\n    "camelCase": 1,\n');
    expect(stdout).toContain('\nresult\n  {\n    "ok": true\n  }\n');
    expect(JSON.parse((await look(way, 'show', id, '--payload', '--json')).stdout)).toMatchObject({
      id,
      status: 'completed',
      max_attempts: 5,
      payload: { camelCase: 1, snake_case: [2] },
      errors: [],
    });
  });

  test('shows how far one is that runs', async ({ db, look }) => {
    const { id } = await processingJob(db, { cancelRequested: true });
    await db.query(`INSERT INTO millrace.job_progress (id, fraction, note) VALUES ($1, 0.25, 'page 3')`, [id]);
    const { stdout } = await look(way, 'show', id);
    expect(stdout).toContain('progress          25% page 3\n');
    expect(stdout).toMatch(/^cancel requested {2}\d{4}-/m);
  });

  test('says which job there is not, and what an id is', async ({ look }) => {
    const id = randomUUID();
    expect(await look(way, 'show', id)).toMatchObject({
      code: 3,
      stdout: '',
      stderr: `No job has the id ${id}, or its retention is over.\n`,
    });
    const malformed = await look(way, 'show', '0196a3c8');
    expect(malformed).toMatchObject({ code: 2, stdout: '' });
    expect(malformed.stderr).toContain('It takes the id of a job, such as 0192');
  });
});

test('over SQL what a codec has sealed is shown as sealed', async ({ db, look }) => {
  const sealed = { $sealed: { kind: 'card.charge', data: 'AAECAw==' } };
  const { id } = await deadJob(db, {
    payload: { of: [sealed] },
    errors: [{ attempt: 1, name: 'E', message: 'sealed', sealed }],
  });
  const { stdout } = await look('sql', 'show', id, '--payload');
  expect(stdout).toContain('"(sealed by the codec of card.charge)"');
  expect(stdout).toContain('  E: sealed\n');
  expect(stdout).not.toContain('AAEC');
});

test('JSON is the same over both', async ({ db, look }) => {
  const { id } = await deadJob(db, { errors: ERRORS, payload: { a: [1, { b: null }] } });
  const line = ['show', id, '--payload', '--result', '--json'];
  expect((await look('http', ...line)).stdout).toBe((await look('sql', ...line)).stdout);
});
