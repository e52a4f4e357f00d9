import { statsOf } from '../../cli/metrics-text.ts';
import { pause } from '../../functions/queue/pause.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test, vi, WAYS } from './looking.ts';

describe.for(WAYS)('millrace stats over %s', (way) => {
  test('tells by kind how many wait, run and died, and what keeps them waiting', async ({ db, look }) => {
    await pendingJob(db, { kind: 'a', dueInSeconds: -7300 });
    await processingJob(db, { kind: 'a' });
    await deadJob(db, { kind: 'b' });
    await finishedJob(db, { kind: 'b' });
    await pause(db, 'kind', 'b');
    const { code, stdout, stderr } = await look(way, 'stats');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^a\t1\t730\d(\.\d+)?\t1\t0\t2\t0\t0\t0\t0\nb\t0\t0\t0\t1\t2\t1\t0\t1\t0\n$/);
    expect(stderr).toContain('The kind b is paused: npx millrace resume --kind b\n');
    expect(stderr).toContain('No worker has the kind a: is its code deployed?\n');
    expect(stderr).toContain('No worker serves the queue default.\n');
  });

  test('in JSON with how ready it is', async ({ db, look }) => {
    await deadJob(db, { kind: 'b' });
    const { kinds, ...rest } = JSON.parse((await look(way, 'stats', '--json')).stdout);
    expect(kinds).toMatchObject([{ kind: 'b', dead: 1, oldest_due_seconds: 0, totals: { enqueued: 1, buried: 1 } }]);
    expect(rest).toMatchObject({ truncated: false, ready: { status: 'ready', paused: [], unclaimed_kinds: [] } });
  });

  test('says that there is nothing', async ({ look }) => {
    const { stdout, stderr } = await look(way, 'stats');
    expect(stdout).toBe('');
    expect(stderr).toContain('No job has ever been put in.');
  });
});

test('JSON has the same members over both', async ({ db, look }) => {
  await deadJob(db, { kind: 'b' });
  const [http, sql] = [await look('http', 'stats', '--json'), await look('sql', 'stats', '--json')];
  expect(JSON.parse(http.stdout)).toEqual(JSON.parse(sql.stdout));
});

test('a token that may not is told which may', async ({ look }) => {
  vi.stubEnv('MILLRACE_TOKEN', 'producer');
  const { code, stderr } = await look('http', 'stats');
  expect(code).toBe(4);
  expect(stderr).toContain('this token has producer');
  expect(stderr).toContain('this takes the role reader or operator. One is made by: npx millrace token create');
});

test('reads every label that the exposition can write', () => {
  const kind = 'a\\\\b\\"c\\nd},';
  const { kinds, truncated } = statsOf(
    [
      '# HELP millrace_jobs Jobs.',
      `millrace_jobs{kind="${kind}",status="dead"} 1000`,
      `millrace_oldest_due_age_seconds{kind="${kind}"} 1.5e3`,
      `millrace_jobs_completed_total{kind="${kind}"} 7`,
      `millrace_of_a_newer_version{kind="${kind}"} 1`,
      'millrace_kinds_truncated 1',
    ].join('\n'),
  );
  expect(kinds).toMatchObject([{ kind: 'a\\b"c\nd},', dead: 1000, oldestDueSeconds: 1500, totals: { completed: 7 } }]);
  expect(truncated).toBe(true);
});
