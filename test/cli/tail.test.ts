import { widthOf } from '../../cli/width.ts';
import { contracts } from '../../functions/jobs/contracts.ts';
import { runOn } from '../lifecycle/ground.ts';
import { deadJob, finishedJob, pendingJob } from '../support/factories.ts';
import { startGate } from './gate.ts';
import { describe, expect, test, WAYS } from './looking.ts';
import { startCli } from './run-cli.ts';

const only = { 'hello.greet': contracts['hello.greet'] };
const EVERY = ['--every', '0.1s'];

describe.for(WAYS)('millrace tail over %s', (way) => {
  test('tells of new jobs and what becomes of them, through a restart, until Ctrl-C', { timeout: 60_000 }, async ({
    db,
    databaseUrl,
    front,
  }) => {
    const before = await finishedJob(db, { createdSecondsAgo: 60 });
    const last = await deadJob(db, { createdSecondsAgo: 50 });
    const gate = await startGate(way === 'http' ? front.url : databaseUrl);
    const env = way === 'http' ? { MILLRACE_URL: gate.url, MILLRACE_TOKEN: 'reader' } : { DATABASE_URL: gate.url };
    const { sees, stdout, stderr, child, ended } = startCli(['tail', '--last', '1', ...EVERY], { env });
    await sees(new RegExp(`Z\t${last.id}\tdead\ttest.kind\t\t5/5\tError: boom\n`));

    const { id } = await pendingJob(db, { kind: 'hello.greet', subject: 'a\x1bb', payload: { name: 'Ada' } });
    await sees(new RegExp(`Z\t${id}\tpending\thello.greet\ta\\\\x1bb\t\t\n`));
    await runOn(databaseUrl, { contracts: only, processors: { 'hello.greet': () => 1 } });
    await sees(new RegExp(`${id}\tcompleted\t`));

    await gate.shut();
    await sees(/Looking again until it is back, or Ctrl-C\.\n/);
    const meanwhile = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' }, maxAttempts: 1 });
    const fail = () => {
      throw new TypeError('no greeting');
    };
    await runOn(databaseUrl, { contracts: only, processors: { 'hello.greet': fail } });
    await gate.open();
    await sees(/ is back\.\n/);
    await sees(new RegExp(`${meanwhile.id}\tdead\thello.greet\t\t1/1\tTypeError: no greeting\n`));

    const said = stderr();
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(stderr()).toBe(said);
    expect(stdout()).not.toContain(before.id);
    expect(
      stdout()
        .split('\n')
        .filter((line) => line.includes(id) && line.includes('completed')),
    ).toHaveLength(1);
  });
});

test('on a terminal each is one line, with the time of day', async ({ db, databaseUrl }) => {
  const { id } = await deadJob(db, { subject: '日本語'.repeat(20), createdSecondsAgo: 50 });
  const env = { DATABASE_URL: databaseUrl, NO_COLOR: '1' };
  const { sees, stdout, child } = startCli(['tail', ...EVERY], { env, columns: 100 });
  await sees(/\r\n/);
  child.kill('SIGINT');
  const [line = ''] = stdout().split('\r\n');
  expect(line).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\dZ  ${id}  dead {8}test.kind  日本語`));
  expect(widthOf(line)).toBeLessThanOrEqual(100);
});

test('prints a job a line as JSON, of the status and kind that are asked for', async ({ db, databaseUrl }) => {
  const { sees, stdout, child, ended } = startCli(
    ['tail', '--last', '0', '--json', '--status', 'dead', '--kind', 'invoice.send', ...EVERY],
    { env: { DATABASE_URL: databaseUrl, LOG_LEVEL: 'debug' } },
  );
  // The first look is three statements, so a fourth belongs to the second: what comes now is new.
  const begun = new Set<string>();
  const seen = async () => {
    for (const { at } of (await db.query<{ at: string }>(LOOKING)).rows) begun.add(at);
    return begun.size;
  };
  await expect.poll(seen, { timeout: 20_000 }).toBeGreaterThan(3);
  await deadJob(db, { kind: 'other.kind' });
  await pendingJob(db, { kind: 'invoice.send' });
  const { id } = await deadJob(db, { kind: 'invoice.send' });
  await sees(new RegExp(id));
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  const jobs = stdout()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(jobs).toMatchObject([{ id, status: 'dead', last_error: { message: 'boom' } }]);
});

/** When its latest statement began. */
const LOOKING = `
SELECT query_start::text AS at FROM pg_stat_activity
WHERE application_name = 'millrace-cli' AND datname = current_database() AND query LIKE '%page(%'`;
