import type pg from 'pg';
import { contracts } from '../../functions/jobs/contracts.ts';
import { runOn } from '../lifecycle/ground.ts';
import { describe, expect, test, vi, WAYS } from './looking.ts';
import { runCli } from './run-cli.ts';

const NAMED = '{"name": "Ada"}';
const UNCHECKED = 'Over SQL no contract has checked the payload';

async function stored(db: pg.Pool, id: string) {
  const { rows } = await db.query(
    `SELECT kind, queue, subject, priority, max_attempts, payload, unique_key, idempotency_key,
       extract(epoch FROM run_at - now())::float8 AS due_in, request_id
     FROM millrace.jobs WHERE id = $1`,
    [id],
  );
  return rows[0];
}

describe.for(WAYS)('millrace enqueue over %s', (way) => {
  test('puts a job in and prints its id', async ({ db, look }) => {
    const settings = [
      '--subject',
      'user:1',
      '--delay',
      '2h',
      '--priority',
      '-3',
      '--queue',
      'slow',
      '--max-attempts',
      '7',
    ];
    const keys = ['--unique-key', 'u', '--idempotency-key', 'i'];
    const { code, stdout, stderr } = await look(way, 'enqueue', 'hello.greet', NAMED, ...settings, ...keys);
    expect(code).toBe(0);
    expect(stderr.includes(UNCHECKED)).toBe(way === 'sql');
    expect(await stored(db, stdout.trimEnd())).toMatchObject({
      kind: 'hello.greet',
      queue: 'slow',
      subject: 'user:1',
      priority: -3,
      max_attempts: 7,
      payload: { name: 'Ada' },
      unique_key: 'u',
      idempotency_key: 'i',
      due_in: expect.closeTo(7200, -2),
      request_id: expect.stringMatching(/^cli-/),
    });
    const again = await look(way, 'enqueue', 'hello.greet', NAMED, '--idempotency-key', 'i', '--json');
    expect(JSON.parse(again.stdout)).toEqual({ id: stdout.trimEnd(), outcome: 'replayed', pruned: false });
    const kept = await look(way, 'enqueue', 'hello.greet', NAMED, '--unique-key', 'u');
    expect(kept.stdout).toBe(stdout);
    expect(kept.stderr).toContain('kept\n');
  });

  test('takes an exact time', async ({ db, look }) => {
    const at = new Date(Date.now() + 3600_000).toISOString();
    const { stdout } = await look(way, 'enqueue', 'hello.greet', NAMED, '--run-at', at);
    expect(await stored(db, stdout.trimEnd())).toMatchObject({ due_in: expect.closeTo(3600, -2) });
  });

  test('refuses what would not be stored as it is written', async ({ db, look }) => {
    for (const [payload, why] of [
      ['{name: 1}', 'The payload is not JSON'],
      ['{"id": 12345678901234567890}', '/id is the number 12345678901234567890'],
      ['"\\u0000"', 'NUL'],
    ] as const) {
      const { code, stdout, stderr } = await look(way, 'enqueue', 'hello.greet', payload);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(why);
    }
    expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(0);
  });

  test('says that a key stands for another payload', async ({ look }) => {
    await look(way, 'enqueue', 'hello.greet', NAMED, '--idempotency-key', 'i');
    const { code, stderr } = await look(way, 'enqueue', 'hello.greet', '{"name":"Grace"}', '--idempotency-key', 'i');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The idempotency key .*another payload/s);
  });

  test('waits for the end and prints the result', async ({ db, databaseUrl, look }) => {
    const waiting = look(way, 'enqueue', 'hello.greet', NAMED, '--wait', '20s');
    await work(db, databaseUrl, () => ({ greeting: 'Hello!' }));
    const { code, stdout } = await waiting;
    expect({ code, result: JSON.parse(stdout) }).toEqual({ code: 0, result: { greeting: 'Hello!' } });
  });

  test('fails with the job that it waits for', async ({ db, databaseUrl, look }) => {
    const waiting = look(way, 'enqueue', 'hello.greet', NAMED, '--wait', '20s', '--max-attempts', '1');
    await work(db, databaseUrl, () => {
      throw new TypeError('no greeting');
    });
    const { code, stdout, stderr } = await waiting;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('It is dead: TypeError: no greeting. More: npx millrace show ');
  });

  test('fails when it is cancelled', async ({ db, look }) => {
    const waiting = look(way, 'enqueue', 'hello.greet', NAMED, '--wait', '20s', '--delay', '1h');
    await vi.waitFor(async () => expect((await db.query(CANCEL)).rowCount).toBe(1), 10_000);
    const { code, stderr } = await waiting;
    expect(code).toBe(1);
    expect(stderr).toContain('It is cancelled. More: npx millrace show ');
  });

  test('does not wait for ever', async ({ look }) => {
    const { code, stderr } = await look(way, 'enqueue', 'hello.greet', NAMED, '--wait', '0.3s', '--delay', '1h');
    expect(code).toBe(1);
    expect(stderr).toContain('has not ended within 0.3 s');
  });
});

const CANCEL = 'SELECT millrace.cancel(id) FROM millrace.live_jobs';

/** Works the one job off that is about to come. */
async function work(db: pg.Pool, databaseUrl: string, greet: () => unknown): Promise<void> {
  await vi.waitFor(async () => expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(1), 10_000);
  await runOn(databaseUrl, {
    contracts: { 'hello.greet': contracts['hello.greet'] },
    processors: { 'hello.greet': greet },
  });
}

test('over HTTP the contract is asked', async ({ look }) => {
  const misfit = await look('http', 'enqueue', 'hello.greet', '{"name": ""}');
  expect(misfit).toMatchObject({ code: 1, stdout: '' });
  expect(misfit.stderr).toMatch(/^The job is not valid:\n {2}\/payload\/name /);
  const unknown = await look('http', 'enqueue', 'hello.greed');
  expect(unknown.stderr).toContain('known kinds: github.webhook, hello.greet');
});

test('a token that may not see results is told how it ended', async ({ db, databaseUrl, look }) => {
  vi.stubEnv('MILLRACE_TOKEN', 'producer');
  const waiting = look('http', 'enqueue', 'hello.greet', NAMED, '--wait');
  await work(db, databaseUrl, () => 1);
  const { code, stdout, stderr } = await waiting;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toContain('It is completed; to see the result takes the role reader.');
});

test('reads the payload from stdin', async ({ db, databaseUrl }) => {
  const env = { DATABASE_URL: databaseUrl };
  const { code, stdout } = await runCli(['enqueue', 'hello.greet', '-'], { env, input: '{"name":\n"Ünï"}' });
  expect(code).toBe(0);
  expect(await stored(db, stdout.trimEnd())).toMatchObject({ payload: { name: 'Ünï' } });
});
