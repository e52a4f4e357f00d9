import { expect, test } from 'vitest';
import { stateOf } from './session-state.ts';
import { migrations, writtenIn } from './written.ts';

const written = writtenIn('functions', 'cli', 'client', 'testing', 'local', 'wake');

test('statements are found where they stand', () => {
  const sources = new Set(written.map(({ path }) => path));
  for (const verb of ['enqueue', 'claim', 'complete', 'give-back', 'bury', 'reap', 'cancel', 'redrive', 'commit']) {
    expect(sources).toContain(`functions/queue/${verb}.ts`);
  }
  expect(sources).toContain('functions/migrate/runner.ts');
  expect(migrations().length).toBeGreaterThan(12);
});

test('they are fixed text: nothing goes into them but constants, and numbers where SET takes no parameters', () => {
  const composed = written.filter(
    ({ path, text }) => path.startsWith('functions/') && /\$\{(?![A-Z][A-Z_]*\})/.test(text),
  );
  expect(composed.filter(({ text }) => !text.startsWith('SET LOCAL lock_timeout = ${'))).toEqual([]);
});

test('they leave nothing behind on a connection', () => {
  const left = [...written, ...migrations()].map(({ path, text }) => ({ path, state: stateOf(text) }));
  expect(left.filter(({ state }) => state.length > 0)).toEqual([]);
});

test.each([
  ["SET statement_timeout = '1s'", 'a setting of the session'],
  ['SELECT 1; SET ROLE other', 'a setting of the session'],
  ["SELECT set_config('a.b', $1, false)", 'a setting of the session'],
  ["SELECT set_config('a.b', coalesce($1, current_setting('a.b')), false)", 'a setting of the session'],
  ['RESET ALL', 'a setting of the session'],
  ['DISCARD TEMP', 'a setting of the session'],
  ["DO $$ BEGIN SET work_mem = '1GB'; END $$", 'a setting of the session'],
  ["DO $$ BEGIN EXECUTE 'SET work_mem = 1000'; END $$", 'a setting of the session'],
  ['LISTEN jobs', 'a channel'],
  ["SELECT pg_notify('jobs', '')", 'a channel'],
  ['PREPARE p AS SELECT 1', 'a prepared statement'],
  ['SELECT pg_advisory_lock(1)', 'a lock of the session'],
  ['SELECT pg_try_advisory_lock_shared(1)', 'a lock of the session'],
  ['CREATE TEMP TABLE t ()', 'a temporary table'],
  ['SELECT 1 AS n INTO TEMPORARY TABLE t', 'a temporary table'],
  ['DECLARE c CURSOR WITH HOLD FOR SELECT 1', 'a cursor'],
  ["SELECT currval('s')", 'the last value of a sequence'],
])('it would be seen: %s', (text, what) => {
  expect(stateOf(text)).toEqual([what]);
});

test.each([
  "SET LOCAL lock_timeout = '100ms'; SET LOCAL search_path = ''",
  'UPDATE t\nSET a = 1',
  'CREATE FUNCTION f() RETURNS int\nLANGUAGE sql\nSET search_path = pg_catalog, pg_temp\nAS $$ SELECT 1 $$',
  'SELECT pg_advisory_xact_lock(1)',
  "SELECT set_config('a.b', $1, true)",
  'SELECT 1 -- SET a = 1; LISTEN x',
])('and this is none: %s', (text) => {
  expect(stateOf(text)).toEqual([]);
});
