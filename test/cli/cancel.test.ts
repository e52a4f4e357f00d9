import { randomUUID } from 'node:crypto';
import { logged } from '../queue/operator-log.ts';
import { finishedJob, liveRowOf, pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { ACTOR, describe, expect, test, vi, WAYS } from './ways.ts';

describe.for(WAYS)('millrace cancel over %s', (way) => {
  test('ends a pending job, and names who did it', async ({ db, act }) => {
    const { id } = await pendingJob(db);
    expect(await act(way, 'cancel', id)).toEqual({ code: 0, stdout: `${id}\tcancelled\n`, stderr: '' });
    expect(await statusOf(db, id)).toBe('cancelled');
    expect(await logged(db)).toMatchObject([{ actor: ACTOR[way], action: 'cancel', target: { id }, count: 1 }]);
  });

  test('asks one that runs to stop, and says that it was only asked', async ({ db, act }) => {
    const { id } = await processingJob(db);
    expect(await act(way, 'cancel', id)).toEqual({ code: 0, stdout: `${id}\tcancel-requested\n`, stderr: '' });
    expect((await liveRowOf(db, id))?.cancel_requested_at).not.toBeNull();
  });

  test('of several each is done, each failure is told, and the exit code is the worst', async ({ db, act }) => {
    const [first, done, last] = [await pendingJob(db), await finishedJob(db), await pendingJob(db)];
    const missing = randomUUID();
    const { code, stdout, stderr } = await act(way, 'cancel', first.id, missing, done.id, last.id, first.id);
    expect(code).toBe(3);
    expect(stdout).toBe(`${first.id}\tcancelled\n${last.id}\tcancelled\n`);
    expect(stderr).toMatch(new RegExp(`^${missing}: .*no .*job.*$`, 'im'));
    expect(stderr).toContain(`${done.id}: Only pending and processing jobs can be cancelled; this one is completed.`);
    expect(stderr).toMatch(/^2 of 4 could not be cancelled\.$/m);
  });

  test('for machines each is a line of JSON, failures too', async ({ db, act }) => {
    const [{ id }, done] = [await pendingJob(db), await finishedJob(db)];
    const { code, stdout } = await act(way, 'cancel', done.id, id, '--json');
    expect(code).toBe(3);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      {
        id: done.id,
        outcome: 'failed',
        error: { code: 'wrong-state', message: expect.stringContaining('is completed') },
      },
      { id, outcome: 'cancelled' },
    ]);
  });

  test('a single failure is said once', async ({ db, act }) => {
    const { id } = await finishedJob(db);
    const { code, stdout, stderr } = await act(way, 'cancel', id);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toBe('Only pending and processing jobs can be cancelled; this one is completed.\n');
  });
});

test('what is no id is refused before anything is done', async ({ db, act }) => {
  const { id } = await pendingJob(db);
  const { code, stderr } = await act('sql', 'cancel', id, 'newest');
  expect(code).toBe(2);
  expect(stderr).toContain("'newest' is invalid");
  expect(await statusOf(db, id)).toBe('pending');
});

test('once the queue cannot be reached, the rest is not tried', async ({ db, act, front }) => {
  const jobs = [await pendingJob(db), await pendingJob(db), await pendingJob(db)].map(({ id }) => id);
  vi.stubEnv('MILLRACE_TOKEN', 'producer');
  const { code, stdout, stderr } = await act('http', 'cancel', ...jobs);
  expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
  expect(stderr).toContain('operator');
  expect(stderr).toMatch(/^1 of 3 could not be cancelled, and 2 were not tried\.$/m);
  vi.stubEnv('MILLRACE_TOKEN', 'operator');
  front.losesNext = true;
  expect((await act('http', 'cancel', ...jobs)).stdout).toBe(jobs.map((id) => `${id}\tcancelled\n`).join(''));
  expect(await logged(db)).toHaveLength(3);
});
