import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type pg from 'pg';
import { barLine } from '../../cli/progress-bar.ts';
import { commandThatGoesOn } from '../../cli/redrive/options.ts';
import type { Role } from '../../functions/lambda/role.ts';
import { logged } from '../queue/operator-log.ts';
import { deadJob, finishedJob, pendingJob, statusOf } from '../support/factories.ts';
import { runCli, startCli } from './run-cli.ts';
import { ACTOR, describe, expect, type Front, test, WAYS } from './ways.ts';

/** That many dead jobs, of which a step takes 200. */
async function deadJobs(db: pg.Pool, count: number, kind = 'invoice.send', error = 'TypeError'): Promise<void> {
  await db.query(
    `INSERT INTO millrace.dead_jobs (id, kind, queue, priority, attempts, max_attempts, reaps, run_at, created_at, started_at,
       finished_at, payload_bytes, errors, payload)
     SELECT millrace.uuidv7(), $2, 'default', 0, 5, 5, 0, now(), now(), now(), now(), 2,
       jsonb_build_array(jsonb_build_object('attempt', 5, 'name', $3::text, 'message', 'of no use')), '{}'
     FROM generate_series(1, $1)`,
    [count, kind, error],
  );
}

async function counts(db: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await db.query('SELECT status, count(*)::int AS n FROM millrace.jobs GROUP BY status');
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** The words of the command that goes on, as a shell splits them, without `npx millrace` and what says which queue. */
function goesOn(stderr: string): string[] {
  const [, line = ''] = /This goes on:\n {2}npx millrace (.*)$/m.exec(stderr) ?? [];
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const place = words.findIndex((word) => word === '--url' || word === '--as');
  if (place >= 0) words.splice(place, 2);
  return words.filter((word) => word !== '--sql');
}

describe.for(WAYS)('millrace redrive over %s', (way) => {
  test('makes jobs pending again by their ids', async ({ db, act }) => {
    const [one, other] = [await deadJob(db), await deadJob(db)];
    const done = await finishedJob(db);
    const { code, stdout, stderr } = await act(way, 'redrive', one.id, done.id, other.id);
    expect(code).toBe(3);
    expect(stdout).toBe(`${one.id}\tredriven\n${other.id}\tredriven\n`);
    expect(stderr).toContain(`${done.id}: Only dead jobs can be redriven; this one is completed.`);
    expect(await statusOf(db, one.id)).toBe('pending');
    expect(await logged(db)).toMatchObject([{ actor: ACTOR[way] }, { actor: ACTOR[way] }]);
  });

  test('says why one stays dead', async ({ db, act }) => {
    const { id } = await deadJob(db, { uniqueKey: 'k' });
    const twin = await pendingJob(db, { uniqueKey: 'k' });
    const { code, stderr } = await act(way, 'redrive', id);
    expect(code).toBe(3);
    expect(stderr).toContain(`The job ${twin.id} has the same unique key and is pending`);
    const { stdout, stderr: why } = await act(way, 'redrive', '--all', '--yes');
    expect(stdout).toBe('redriven\t0\nskipped\t1\n');
    expect(why).toContain('1 dead job stayed dead: one with the same unique key is pending');
  });

  test('by filter it counts, asks, and then does as many', async ({ db, act }) => {
    await deadJobs(db, 450);
    await deadJobs(db, 3, 'invoice.send', 'Timeout');
    await deadJobs(db, 2, 'other.kind');
    const filter = ['--kind', 'invoice.send', '--error', 'typeerror', '--dead-after', '1h'];
    const dry = await act(way, 'redrive', ...filter, '--dry-run');
    expect(dry).toMatchObject({
      code: 0,
      stdout: 'matched\t450\n',
      stderr: expect.stringContaining('Nothing was changed'),
    });
    const counted = await act(way, 'redrive', ...filter, '--dry-run', '--json');
    expect(JSON.parse(counted.stdout)).toEqual({ matched: 450, counted_all: true });
    const unasked = await act(way, 'redrive', ...filter);
    expect(unasked).toMatchObject({ code: 2, stdout: '' });
    expect(unasked.stderr).toMatch(
      /^Redrive 450 dead jobs of the kind invoice\.send, with "typeerror" in their last error, dead since \S+Z, in \S+\? Nobody can be asked here: add --yes\.\n$/,
    );
    expect(await counts(db)).toEqual({ dead: 455 });
    const done = await act(way, 'redrive', ...filter, '--yes');
    expect(done).toEqual({ code: 0, stdout: 'redriven\t450\nskipped\t0\n', stderr: '' });
    expect(await counts(db)).toEqual({ dead: 5, pending: 450 });
    const log = await logged(db);
    expect(log.reduce((sum, { count }) => sum + Number(count), 0)).toBe(450);
    for (const { actor, action } of log) expect({ actor, action }).toEqual({ actor: ACTOR[way], action: 'redrive' });
    const none = await act(way, 'redrive', ...filter, '--yes', '--json');
    expect(JSON.parse(none.stdout)).toEqual({ redriven: 0, skipped: 0, next_cursor: null });
  });

  test('stops at a limit, and says how it goes on', async ({ db, act }) => {
    await deadJobs(db, 450);
    const first = await act(way, 'redrive', '--kind', 'invoice.send', '--error', 'of no', '--limit', '250', '--yes');
    expect(first).toMatchObject({ code: 0, stdout: 'redriven\t250\nskipped\t0\n' });
    const words = goesOn(first.stderr);
    expect(words).toEqual(
      expect.arrayContaining(['redrive', '--kind', 'invoice.send', '--error', 'of no', '--after', '--limit', '--yes']),
    );
    expect(first.stderr).toContain("--error 'of no'");
    const second = await act(way, ...words);
    expect(second).toMatchObject({ code: 0, stdout: 'redriven\t200\nskipped\t0\n' });
    expect(await counts(db)).toEqual({ pending: 450 });
  });
});

describe('interrupted', () => {
  const interrupt = () => {
    process.emit('SIGINT');
    return undefined;
  };

  /** The API holds back the answer to the third step until `meanwhile` is over. */
  const atThirdStep = (front: Front, meanwhile: () => Role | undefined) => {
    let steps = 0;
    front.before = (target) => {
      return target === '/jobs/redrive' && ++steps === 3 ? meanwhile() : undefined;
    };
  };

  test('by Ctrl-C it ends the step that runs and prints the command that goes on, over either way', async ({
    db,
    act,
    front,
  }) => {
    await deadJobs(db, 1000);
    atThirdStep(front, interrupt);
    const first = await act('http', 'redrive', '--all', '--yes');
    expect(first).toMatchObject({ code: 130, stdout: 'redriven\t600\nskipped\t0\n' });
    expect(first.stderr).toContain('Stopping after this step');
    expect(await counts(db)).toEqual({ dead: 400, pending: 600 });
    // One of those that were redriven dies again meanwhile: it is left to whoever asks for it anew.
    const { rows } = await db.query('SELECT id FROM millrace.live_jobs ORDER BY id LIMIT 1');
    for (const table of ['live_jobs', 'payloads'])
      await db.query(`DELETE FROM millrace.${table} WHERE id = $1`, [rows[0].id]);
    await deadJob(db, { id: rows[0].id });
    const second = await act('sql', ...goesOn(first.stderr));
    expect(second).toEqual({ code: 0, stdout: 'redriven\t400\nskipped\t0\n', stderr: '' });
    expect(await counts(db)).toEqual({ dead: 1, pending: 999 });
  });

  test('for machines the cursor is in the answer', async ({ db, act, front }) => {
    await deadJobs(db, 1000);
    atThirdStep(front, interrupt);
    const { code, stdout } = await act('http', 'redrive', '--all', '--yes', '--json');
    expect(code).toBe(130);
    const { redriven, next_cursor } = JSON.parse(stdout);
    expect(redriven).toBe(600);
    const rest = await act('http', 'redrive', '--all', '--yes', '--json', '--after', next_cursor);
    expect(JSON.parse(rest.stdout)).toEqual({ redriven: 400, skipped: 0, next_cursor: null });
  });

  test('by a failure it says what is done, and how to go on', async ({ db, act, front }) => {
    await deadJobs(db, 1000);
    atThirdStep(front, () => 'producer');
    const { code, stdout, stderr } = await act('http', 'redrive', '--all', '--yes');
    expect({ code, stdout }).toEqual({ code: 4, stdout: 'redriven\t400\nskipped\t0\n' });
    expect(goesOn(stderr)).toContain('--after');
    expect(await counts(db)).toEqual({ dead: 600, pending: 400 });
  });

  test('by a lost answer it does no step twice and counts each', async ({ db, act, front }) => {
    await deadJobs(db, 450);
    let steps = 0;
    front.before = () => {
      front.losesNext = ++steps === 2;
      return undefined;
    };
    expect(await act('http', 'redrive', '--all', '--yes')).toMatchObject({
      code: 0,
      stdout: 'redriven\t450\nskipped\t0\n',
    });
    expect(steps).toBe(4);
    expect((await logged(db)).map(({ count }) => count)).toEqual([200, 200, 50]);
  });
});

test.for<[string[], string]>([
  [[], 'Which jobs? Give their ids, or --kind, --error'],
  [['0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11', '--all'], 'Give ids, or filters, not both'],
  [['0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11', '--dry-run'], 'Give ids, or filters, not both; --dry-run, --limit'],
  [['0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11', '--limit', '5'], '--limit and --after go with filters'],
  [['--all', '--kind', 'a'], '--all goes alone'],
  [['--dead-after', 'yesterday'], 'It takes a time'],
  [['--error', ''], 'It takes 1 to 255 characters'],
  [['--kind', ''], 'It takes 1 to 100 letters'],
  [['--limit', '0', '--all'], 'a whole number from 1'],
  [['--all', '--yes', '--after', 'x'], '--after takes what an interrupted redrive has printed'],
])('%j is refused, with what to do', async ([args, sentence], { db, act }) => {
  await deadJob(db);
  const { code, stdout, stderr } = await act('sql', 'redrive', ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(sentence);
  expect(await counts(db)).toEqual({ dead: 1 });
});

test('the command that goes on says the same to a shell', async () => {
  const error = `it's "$HOME" \`id\` \\ $(id); -x`;
  const options = { kind: 'a.kind', error, deadAfter: new Date(0), limit: 10, yes: true };
  const command = commandThatGoesOn(options, 'a-cursor', 4).replace('npx millrace redrive ', '');
  const { stdout } = await promisify(execFile)('sh', ['-c', `printf '%s\\n' ${command}`]);
  expect(stdout.trim().split('\n')).toEqual([
    '--kind',
    'a.kind',
    '--error',
    error,
    '--dead-after',
    '1970-01-01T00:00:00.000Z',
    '--limit',
    '6',
    '--after',
    'a-cursor',
    '--yes',
  ]);
});

test('what an API says of a cursor is said in the words of the command', async ({ db, act }) => {
  await deadJob(db);
  const { code, stderr } = await act('http', 'redrive', '--all', '--yes', '--after', 'x');
  expect(code).toBe(2);
  expect(stderr).toMatch(/^--after takes what an interrupted redrive has printed/);
});

test.for<[number, number, number, number, string]>([
  [0, 20_000, 0, 100, `${'░'.repeat(40)}  0%  0 of 20,000`],
  [5_000, 20_000, 4, 100, `${'█'.repeat(10)}${'░'.repeat(30)}  25%  5,000 of 20,000  12s left`],
  [20_000, 20_000, 9, 100, `${'█'.repeat(40)}  100%  20,000 of 20,000`],
  [300, 200, 9, 100, `${'█'.repeat(40)}  100%  300 of 300`],
  [5_000, 20_000, 4, 45, `${'█'.repeat(3)}${'░'.repeat(10)}  25%  5,000 of 20,000  12s left`],
  [5_000, 20_000, 4, 39, '25%  5,000 of 20,000  12s left'],
  [5_000, 20_000, 4, 10, '25%  5,00…'],
])('the bar at %i of %i after %i s in %i columns', ([done, total, seconds, columns, line]) => {
  expect(barLine(done, total, seconds, columns)).toBe(line);
});

test('on a narrow terminal Ctrl-C leaves every line to be read', async ({ db, databaseUrl }) => {
  await deadJobs(db, 20_000);
  const running = startCli(['redrive', '--all', '--yes', '--database-url', databaseUrl], { columns: 60 });
  await running.sees(/200 of 20,000/);
  const { stdout: pid } = await promisify(execFile)('ps', ['-o', 'pid=', '--ppid', String(running.child.pid)]);
  process.kill(Number(pid), 'SIGINT');
  expect(await running.ended).toBe(130);
  const lines = running.stdout().split('\r\n');
  expect(lines).toContain('Stopping after this step; Ctrl-C again stops at once.');
  expect(lines).toContainEqual(expect.stringMatching(/^redriven {2}[\d,]+$/));
  expect(lines).toContain('skipped   0');
});

test('on a terminal it asks, with the number, and draws a bar; a password is in no command that goes on', async ({
  db,
  databaseUrl,
}) => {
  await deadJobs(db, 450);
  const url = new URL(databaseUrl);
  const args = ['redrive', '--all', '--limit', '300', '--database-url', databaseUrl];
  const no = await runCli(args, { columns: 120, input: 'n\n' });
  expect(no.code).toBe(1);
  expect(no.stdout).toContain('Redrive 300 dead jobs, in ');
  expect(no.stdout).toContain('Nothing was done.');
  expect(await counts(db)).toEqual({ dead: 450 });
  const yes = await runCli(args, { columns: 120, input: 'y\n' });
  expect(yes.code).toBe(0);
  expect(yes.stdout).toContain('300 of 300');
  expect(yes.stdout).toMatch(/redriven\s+300/);
  expect(yes.stdout).toContain('--database-url …');
  for (const said of [no, yes]) expect(said.stdout).not.toContain(`:${url.password}@`);
  expect(await counts(db)).toEqual({ dead: 150, pending: 300 });
});
