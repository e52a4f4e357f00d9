import { expect, test } from 'vitest';
import { sandboxEnvironment } from '../../local/environment.ts';
import { readSettings } from '../../local/settings.ts';

test('defaults, and empty is unset', () => {
  const defaults = { port: 3000, databaseUrl: undefined, tickSeconds: undefined, auth: false };
  expect(readSettings({})).toEqual(defaults);
  const empty = { PORT: '', DATABASE_URL: '', MILLRACE_TICK_SECONDS: '', MILLRACE_AUTH: '', LOG_LEVEL: '' };
  expect(readSettings(empty)).toEqual(defaults);
  expect(readSettings({ PORT: '0', DATABASE_URL: 'postgresql://h/d', MILLRACE_TICK_SECONDS: '1.5' })).toEqual({
    port: 0,
    databaseUrl: 'postgresql://h/d',
    tickSeconds: 1.5,
    auth: false,
  });
  expect(readSettings({ MILLRACE_AUTH: 'on' })).toEqual({ ...defaults, auth: true });
});

test.each([
  [{ PORT: 'abc' }, 'PORT is "abc": give a whole number from 0 to 65535'],
  [{ PORT: '65536' }, 'PORT is "65536"'],
  [{ PORT: '-1' }, 'PORT is "-1"'],
  [{ PORT: '3000.5' }, 'PORT is "3000.5"'],
  [{ MILLRACE_TICK_SECONDS: 'fast' }, 'MILLRACE_TICK_SECONDS is "fast"'],
  [{ MILLRACE_TICK_SECONDS: '0' }, 'MILLRACE_TICK_SECONDS is "0"'],
  [{ LOG_LEVEL: 'verbose' }, 'LOG_LEVEL is "verbose": write one of debug, info, warn, error'],
  [{ MILLRACE_AUTH: 'true' }, 'MILLRACE_AUTH is "true": write on or off'],
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
  const environment = sandboxEnvironment(fn, { DATABASE_URL: 'postgres://h/d' }, shell);
  expect(environment).toMatchObject({
    LOG_LEVEL: 'debug',
    KEY: 'k',
    NODE_OPTIONS: '-x',
    DATABASE_CA_FILE: '/ca.pem',
    DATABASE_URL: 'postgres://h/d',
  });
  expect(environment).not.toHaveProperty('SECRET');
});

test('who may call is for the runtime to say: neither the template nor the shell opens a function', () => {
  const variables = { OPEN_ROLE: 'operator', TOKENS_SECRET_ARN: { Ref: 'Tokens' }, TOKENS_FILE: 'bundled.json' };
  const fn = { name: 'Manage', directory: '/bundle', memoryMegabytes: 256, variables };
  const shell = { OPEN_ROLE: 'operator', TOKENS_SECRET_ARN: 'arn:aws:secretsmanager:…', TOKENS_FILE: '/elsewhere' };
  const closed = sandboxEnvironment(fn, { DATABASE_URL: 'postgres://h/d', TOKENS_FILE: '/own/tokens.json' }, shell);
  expect(closed).not.toHaveProperty('OPEN_ROLE');
  expect(closed).not.toHaveProperty('TOKENS_SECRET_ARN');
  expect(closed).toMatchObject({ TOKENS_FILE: '/own/tokens.json' });
  const open = sandboxEnvironment(fn, { DATABASE_URL: 'postgres://h/d', OPEN_ROLE: 'operator' }, {});
  expect(open).toMatchObject({ OPEN_ROLE: 'operator' });
});
