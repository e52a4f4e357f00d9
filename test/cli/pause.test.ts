import { logged } from '../queue/operator-log.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { ACTOR, describe, expect, test, WAYS } from './ways.ts';

const paused = `SELECT scope, name, resumed_at IS NULL AS paused FROM millrace.pauses ORDER BY scope`;

describe.for(WAYS)('millrace pause and resume over %s', (way) => {
  test('stop a kind or a queue, and start it again', async ({ db, act }) => {
    expect(await act(way, 'pause', '--kind', 'a.kind')).toEqual({
      code: 0,
      stdout: 'kind a.kind\tpaused\n',
      stderr: '',
    });
    expect((await act(way, 'pause', '--queue', 'emails')).stdout).toBe('queue emails\tpaused\n');
    expect((await db.query(paused)).rows).toEqual([
      { scope: 'kind', name: 'a.kind', paused: true },
      { scope: 'queue', name: 'emails', paused: true },
    ]);
    expect((await act(way, 'pause', '--kind', 'a.kind')).code).toBe(0);
    expect(JSON.parse((await act(way, 'resume', '--kind', 'a.kind', '--json')).stdout)).toEqual({
      kind: 'a.kind',
      paused: false,
    });
    expect((await act(way, 'resume', '--queue', 'emails')).stdout).toBe('queue emails\tresumed\n');
    expect((await db.query(paused)).rows).toMatchObject([{ paused: false }, { paused: false }]);
    expect((await logged(db)).map(({ actor, action, target }) => [actor, action, target])).toEqual([
      [ACTOR[way], 'pause', { kind: 'a.kind' }],
      [ACTOR[way], 'pause', { queue: 'emails' }],
      [ACTOR[way], 'resume', { kind: 'a.kind' }],
      [ACTOR[way], 'resume', { queue: 'emails' }],
    ]);
  });

  test('let the fire times of a schedule pass, and go on', async ({ db, act }) => {
    const name = await declaredSchedule(db);
    expect(await act(way, 'pause', '--schedule', name)).toEqual({
      code: 0,
      stdout: `schedule ${name}\tpaused\n`,
      stderr: '',
    });
    expect((await db.query(paused)).rows).toEqual([{ scope: 'schedule', name, paused: true }]);
    const { stdout } = await act(way, 'resume', '--schedule', name, '--json');
    expect(JSON.parse(stdout)).toEqual({ schedule: name, paused: false });
    expect((await db.query(paused)).rows).toMatchObject([{ paused: false }]);
    // A pause can be ended though its schedule is gone.
    await act(way, 'pause', '--schedule', name);
    await db.query('DELETE FROM millrace.schedules');
    expect((await act(way, 'resume', '--schedule', name)).stdout).toBe(`schedule ${name}\tresumed\n`);
  });
});

test.for([
  [[], 'Give --queue, --kind or --schedule, one of them.'],
  [['--queue', 'a', '--kind', 'b'], 'Give --queue, --kind or --schedule, one of them.'],
  [['--queue', 'a', '--schedule', 'b'], 'Give --queue, --kind or --schedule, one of them.'],
  [['--queue', 'a b'], '--queue'],
] as const)('pause %j is refused', async ([args, sentence], { db, act }) => {
  const { code, stderr } = await act('sql', 'pause', ...args);
  expect(code).toBe(2);
  expect(stderr).toContain(sentence);
  expect((await db.query(paused)).rows).toEqual([]);
});
