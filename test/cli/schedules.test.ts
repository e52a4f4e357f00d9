import { pause } from '../../functions/queue/pause.ts';
import { logged } from '../queue/operator-log.ts';
import { statusOf } from '../support/factories.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { describe, expect, test, vi, WAYS } from './looking.ts';
import { ACTOR } from './ways.ts';

describe.for(WAYS)('millrace schedules over %s', (way) => {
  test('has a line for each: its times, what comes and what has come', async ({ db, look }) => {
    await declaredSchedule(db, { name: 'sync', every: '5m', kind: 'sync.run', firedMinutesAgo: 3, outcome: 'overlap' });
    await declaredSchedule(db, { name: 'report', firedMinutesAgo: 60 });
    await pause(db, 'schedule', 'sync');
    const { code, stdout, stderr } = await look(way, 'schedules');
    expect([code, stderr]).toEqual([0, '']);
    const rows = stdout.trimEnd().split('\n');
    const [time, id] = [/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000000Z$/, /^[0-9a-f-]{36}$/];
    expect(rows.map((row) => row.split('\t'))).toEqual([
      ['report', '0 2 * * *', 'Europe/Berlin', 'report.build', ...[time, time].map(like), 'fired', like(id), ''],
      ['sync', 'every 5m', '', 'sync.run', ...[time, time].map(like), 'overlap', '', 'paused'],
    ]);
  });

  test('names those that no run declares any more', async ({ db, look }) => {
    await declaredSchedule(db, { name: 'there', declaredSecondsAgo: 1500 });
    await declaredSchedule(db, { name: 'gone', declaredSecondsAgo: 7300 });
    const { code, stderr } = await look(way, 'schedules');
    expect(code).toBe(0);
    expect(stderr).toBe(
      'gone was last declared 2h ago: it is no longer in the code that is deployed, or no worker runs.\n',
    );
  });

  test('says that there is none', async ({ look }) => {
    expect(await look(way, 'schedules')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'No worker has declared a schedule.\n',
    });
    expect(JSON.parse((await look(way, 'schedules', '--json')).stdout)).toEqual({ schedules: [] });
  });
});

test('JSON is that of the API, over both', async ({ db, look, call }) => {
  await declaredSchedule(db, { firedMinutesAgo: 60, payload: { secret: 'a' } });
  await declaredSchedule(db, { name: 'sync', every: '90s', overlap: 'allow' });
  const { body } = await call('GET', '/schedules');
  expect(body.schedules).toHaveLength(2);
  for (const way of WAYS) expect(JSON.parse((await look(way, 'schedules', '--json')).stdout)).toEqual(body);
});

test('a token that may not is told which may', async ({ look }) => {
  vi.stubEnv('MILLRACE_TOKEN', 'producer');
  const { code, stderr } = await look('http', 'schedules');
  expect(code).toBe(4);
  expect(stderr).toContain('this takes the role reader or operator');
});

describe.for(WAYS)('millrace fire over %s', (way) => {
  const args = way === 'sql' ? ['--as', ACTOR.sql] : [];

  test('makes a job, and prints its id', async ({ db, look }) => {
    const name = await declaredSchedule(db);
    const { code, stdout, stderr } = await look(way, 'fire', name, ...args);
    expect([code, stderr]).toEqual([0, '']);
    expect(await statusOf(db, stdout.trimEnd())).toBe('pending');
    expect(await logged(db)).toMatchObject([
      { actor: ACTOR[way], action: 'fire', target: { schedule: name, id: stdout.trimEnd() } },
    ]);
  });

  test('--json prints the job, as the API answers it', async ({ db, look, call }) => {
    const name = await declaredSchedule(db, { queue: 'mail' });
    const job = JSON.parse((await look(way, 'fire', name, '--json')).stdout);
    expect(job).toEqual((await call('GET', `/jobs/${job.id}`)).body);
  });

  test('is refused with the id of the job that has not ended', async ({ db, look }) => {
    const name = await declaredSchedule(db);
    const id = (await look(way, 'fire', name)).stdout.trimEnd();
    expect(await look(way, 'fire', name)).toEqual({
      code: 3,
      stdout: '',
      stderr: `Its job ${id} has not ended, and its jobs do not overlap; nothing was made.\n`,
    });
  });

  test.for(['fire NAME', 'pause --schedule NAME', 'resume --schedule NAME'])(
    '`%s` of none that is declared is refused, with the same words over both',
    async (line, { db, look }) => {
      await declaredSchedule(db);
      expect(await look(way, ...line.replace('NAME', 'nightyl').split(' '))).toEqual({
        code: 3,
        stdout: '',
        stderr:
          'No worker has declared a schedule nightyl in the last 30 days: look in the list of schedules for its name.\n',
      });
      expect(await logged(db)).toEqual([]);
    },
  );
});

function like(pattern: RegExp): unknown {
  return expect.stringMatching(pattern);
}
