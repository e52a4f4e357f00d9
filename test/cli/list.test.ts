import type pg from 'pg';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test, WAYS } from './looking.ts';

const ESC = '\x1b';

/** One job in each state, the oldest first. */
async function oneOfEach(db: pg.Pool) {
  const dead = await deadJob(db, { kind: 'invoice.send', subject: 'invoice:7', createdSecondsAgo: 500 });
  const cancelled = await finishedJob(db, { status: 'cancelled', createdSecondsAgo: 400 });
  const completed = await finishedJob(db, { kind: 'report.build', createdSecondsAgo: 300 });
  const pending = await pendingJob(db, { dueInSeconds: 3600, createdSecondsAgo: 200 });
  const processing = await processingJob(db, { cancelRequested: true, createdSecondsAgo: 100 });
  return { dead, cancelled, completed, pending, processing };
}

const ids = (stdout: string) =>
  stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0]);

describe.for(WAYS)('millrace list over %s', (way) => {
  test('gives a line with tabs for each job, the newest first, and nothing else', async ({ db, look }) => {
    const { dead, cancelled, completed, pending, processing } = await oneOfEach(db);
    const { code, stdout, stderr } = await look(way, 'list');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(ids(stdout)).toEqual([processing.id, pending.id, completed.id, cancelled.id, dead.id]);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/\tprocessing\t\S+\t\t1\/5\t\d{4}-\S+Z\tasked to stop$/);
    expect(lines[1]).toMatch(/\tdue in 59m$/);
    expect(lines[4]).toMatch(/^\S+\tdead\tinvoice\.send\tinvoice:7\t5\/5\t\S+\tError: boom$/);
    expect(stdout).not.toContain(ESC);
  });

  test('combines its filters', async ({ db, look }) => {
    const { dead, completed, pending } = await oneOfEach(db);
    const listed = async (...filter: string[]) => ids((await look(way, 'list', ...filter)).stdout);
    expect(await listed('--status', 'dead')).toEqual([dead.id]);
    expect(await listed('--kind', 'report.build')).toEqual([completed.id]);
    expect(await listed('--subject', 'invoice:7', '--status', 'dead')).toEqual([dead.id]);
    expect(await listed('--created-after', '350s', '--created-before', '3m')).toEqual([pending.id, completed.id]);
    expect(await listed('--kind', 'no.such')).toEqual([]);
  });

  test('reads page by page, as far as it is to', async ({ db, look }) => {
    await db.query(`SELECT millrace.enqueue('many', '{}') FROM generate_series(1, 450)`);
    const usual = await look(way, 'list');
    expect(ids(usual.stdout)).toHaveLength(50);
    expect(usual.stderr).toBe('There are more: --limit 500, or --all.\n');
    expect(ids((await look(way, 'list', '--limit', '201')).stdout)).toHaveLength(201);
    const { stdout, stderr } = await look(way, 'list', '--all');
    expect(new Set(ids(stdout)).size).toBe(450);
    expect(stderr).toBe('');
    const { jobs, more } = JSON.parse((await look(way, 'list', '--limit', '401', '--json')).stdout);
    expect([jobs.length, more]).toEqual([401, true]);
    expect(JSON.parse((await look(way, 'list', '--all', '--json')).stdout)).toMatchObject({ more: false });
    expect(JSON.parse((await look(way, 'list', '--kind', 'other', '--json')).stdout)).toEqual({
      jobs: [],
      more: false,
    });
  });

  test('counts', async ({ db, look }) => {
    await oneOfEach(db);
    await deadJob(db);
    const { stdout } = await look(way, 'list', '--counts');
    expect(stdout).toBe('pending\t1\nprocessing\t1\ncompleted\t1\ndead\t2\ncancelled\t1\n');
    const counted = await look(way, 'list', '--counts', '--status', 'dead', '--json');
    expect(JSON.parse(counted.stdout)).toEqual({ counts: { dead: 2 }, counts_limit: 1000 });
  });

  test('makes visible what a terminal would look on', async ({ db, look }) => {
    await pendingJob(db, { subject: `a\nb${ESC}[2J\u202e` });
    const { stdout } = await look(way, 'list');
    expect(stdout).toContain('\ta\\nb\\x1b[2J\\u{202e}\t');
    const asJson = (await look(way, 'list', '--json')).stdout;
    expect(JSON.parse(asJson).jobs[0].subject).toBe(`a\nb${ESC}[2J\u202e`);
    for (const hidden of [ESC, '\u202e']) expect(asJson).not.toContain(hidden);
  });
});

test('JSON is the same over both, and that of the API', async ({ db, look, call }) => {
  await oneOfEach(db);
  const [http, sql] = [await look('http', 'list', '--json'), await look('sql', 'list', '--json')];
  expect(http.stdout).toBe(sql.stdout);
  expect(JSON.parse(http.stdout).jobs).toEqual((await call('GET', '/jobs')).body.jobs);
});
