import { logged } from '../queue/operator-log.ts';
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
});

test.for([
  [[], 'Give --queue or --kind, one of them.'],
  [['--queue', 'a', '--kind', 'b'], 'Give --queue or --kind, one of them.'],
  [['--queue', 'a b'], '--queue'],
] as const)('pause %j is refused', async ([args, sentence], { db, act }) => {
  const { code, stderr } = await act('sql', 'pause', ...args);
  expect(code).toBe(2);
  expect(stderr).toContain(sentence);
  expect((await db.query(paused)).rows).toEqual([]);
});
