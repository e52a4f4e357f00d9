import { expect, test } from 'vitest';
import { sandboxEnvironment } from '../../local/environment.ts';
import { readSettings } from '../../local/settings.ts';

test('defaults, and empty is unset', () => {
  const defaults = { port: 3000, databaseUrl: undefined, tickSeconds: undefined };
  expect(readSettings({})).toEqual(defaults);
  expect(readSettings({ PORT: '', DATABASE_URL: '', MILLRACE_TICK_SECONDS: '' })).toEqual(defaults);
  expect(readSettings({ PORT: '0', DATABASE_URL: 'postgresql://h/d', MILLRACE_TICK_SECONDS: '1.5' })).toEqual({
    port: 0,
    databaseUrl: 'postgresql://h/d',
    tickSeconds: 1.5,
  });
});

test.each([
  [{ PORT: 'abc' }, 'PORT is "abc": give a whole number from 0 to 65535'],
  [{ PORT: '65536' }, 'PORT is "65536"'],
  [{ PORT: '-1' }, 'PORT is "-1"'],
  [{ PORT: '3000.5' }, 'PORT is "3000.5"'],
  [{ MILLRACE_TICK_SECONDS: 'fast' }, 'MILLRACE_TICK_SECONDS is "fast"'],
  [{ MILLRACE_TICK_SECONDS: '0' }, 'MILLRACE_TICK_SECONDS is "0"'],
  [{ DATABASE_URL: 'mysql://u:hush@h/d' }, 'DATABASE_URL is no Postgres URL'],
  [{ DATABASE_URL: 'postgres://u:hush@h:port/d' }, 'DATABASE_URL is no Postgres URL'],
])('%j is one sentence that says what to do', (env, message) => {
  expect(() => readSettings(env)).toThrow(message);
  expect(() => readSettings(env)).not.toThrow('hush');
});

test('a setting of the template takes the value of the shell, and nothing else of the shell gets in', () => {
  const fn = {
    name: 'Work',
    directory: '/bundle',
    memoryMegabytes: 256,
    variables: { LOG_LEVEL: 'info', KEY: { Ref: 'Key' }, NODE_OPTIONS: '-x' },
  };
  const shell = { LOG_LEVEL: 'debug', KEY: 'k', NODE_OPTIONS: '--inspect', SECRET: 's', DATABASE_CA_FILE: '/ca.pem' };
  const environment = sandboxEnvironment(fn, 'postgres://h/d', shell);
  expect(environment).toMatchObject({
    LOG_LEVEL: 'debug',
    KEY: 'k',
    NODE_OPTIONS: '-x',
    DATABASE_CA_FILE: '/ca.pem',
    DATABASE_URL: 'postgres://h/d',
  });
  expect(environment).not.toHaveProperty('SECRET');
});
