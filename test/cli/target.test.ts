import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Doing } from '../../cli/doing.ts';
import { httpFailure } from '../../cli/http-failure.ts';
import { sqlFailure } from '../../cli/sql-failure.ts';
import { targetOf } from '../../cli/target.ts';
import type { TargetOptions } from '../../cli/target-options.ts';
import { ApiError } from '../../client/api-error.ts';
import { DatabaseTimeoutError } from '../../functions/queue/steady-connection.ts';
import { startOf } from '../../local/process-identity.ts';
import { Announcement } from '../../local/runtime-file.ts';
import { json, problem, raw, serve } from '../client/server.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { createDatabase } from '../support/database.ts';
import { inject } from '../support/fixtures.ts';
import { test as withLogins } from '../support/logins.ts';
import { here } from './here.ts';
import { describe, expect, test, vi } from './looking.ts';

const URL_A = 'https://a.example';
const DB = 'postgres://ada:s3cr3t@db.example:6543/app?sslmode=require';

describe('which queue', () => {
  const chosen: [what: string, options: TargetOptions, env: NodeJS.ProcessEnv, by: string, where: string][] = [
    ['MILLRACE_URL', {}, { MILLRACE_URL: URL_A }, 'http', URL_A],
    ['DATABASE_URL', {}, { DATABASE_URL: DB }, 'sql', 'db.example:6543/app'],
    ['--url before both', { url: URL_A }, { MILLRACE_URL: 'https://b.example', DATABASE_URL: DB }, 'http', URL_A],
    [
      '--database-url before both',
      { databaseUrl: DB },
      { MILLRACE_URL: URL_A, DATABASE_URL: 'x' },
      'sql',
      'db.example:6543/app',
    ],
    ['--sql of both', { sql: true }, { MILLRACE_URL: URL_A, DATABASE_URL: DB }, 'sql', 'db.example:6543/app'],
    ['--http of both', { http: true }, { MILLRACE_URL: URL_A, DATABASE_URL: DB }, 'http', URL_A],
    ['an empty variable is none', {}, { MILLRACE_URL: '', DATABASE_URL: DB }, 'sql', 'db.example:6543/app'],
    [
      'a login by IAM',
      {},
      { DATABASE_USER: 'ada', DATABASE_HOST: 'db.example', AWS_REGION: 'eu-west-1' },
      'sql',
      'db.example',
    ],
  ];
  test.for(chosen)('%s', async ([, options, env, by, where]) => {
    expect(await targetOf(options, env, '/nowhere')).toMatchObject({ by, where });
  });

  const refused: [what: string, options: TargetOptions, env: NodeJS.ProcessEnv, message: string][] = [
    ['none', {}, {}, 'Which queue? Give --url'],
    ['--sql without a database', { sql: true }, { MILLRACE_URL: URL_A }, 'Which queue?'],
    ['both variables', {}, { MILLRACE_URL: URL_A, DATABASE_URL: DB }, 'say which is meant, with --http or --sql'],
    ['both options', { url: URL_A, sql: true }, { DATABASE_URL: DB }, 'not both'],
    ['no URL of Postgres', {}, { DATABASE_URL: 'mysql://ada:s3cr3t@db' }, 'DATABASE_URL is not a URL such as'],
    ['half a login', {}, { DATABASE_USER: 'ada' }, 'DATABASE_USER and DATABASE_HOST'],
  ];
  test.for(refused)('%s is said to be wrong', async ([, options, env, message]) => {
    const error = await targetOf(options, env, '/nowhere').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'CliError', exitCode: 2, message: expect.stringContaining(message) });
    expect(String(error)).not.toContain('s3cr3t');
  });

  test('the one that runs in this folder, if nothing is named', async () => {
    const directory = await temporaryDirectory();
    const runtime = { url: 'http://127.0.0.1:3000', databaseUrl: 'postgres://me@127.0.0.1:5432/millrace' };
    await mkdir(join(directory, '.millrace'));
    const announced = new Announcement(join(directory, '.millrace'));
    await announced.change({ ...runtime, pid: process.pid, start: (await startOf(process.pid)) ?? '' });
    expect(await targetOf({}, {}, directory)).toMatchObject({ by: 'http', where: runtime.url });
    expect(await targetOf({ sql: true }, {}, directory)).toMatchObject({ by: 'sql', where: '127.0.0.1:5432/millrace' });
    expect(await targetOf({}, { MILLRACE_URL: URL_A }, directory)).toMatchObject({ where: URL_A });
  });

  test.for([
    ['--url', ''],
    ['--database-url', ' '],
  ])('%s of a variable that is not set is no other queue', async ([option = '', value = '']) => {
    vi.stubEnv('MILLRACE_URL', 'http://127.0.0.1:1');
    vi.stubEnv('DATABASE_URL', 'postgres://127.0.0.1:1/app');
    for (const command of ['list', 'pause']) {
      const { code, stdout, stderr } = await here(command, option, value);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('Nothing came: is the variable set?');
    }
  });

  test.for(['', ' ', 'a\x1b[2J', 'a'.repeat(201)])('nobody acts as %j', async (name) => {
    const { code, stderr } = await here('pause', '--kind', 'a', '--sql', '--as', name);
    expect(code).toBe(2);
    expect(stderr).toContain('It takes a name');
  });

  test('nor by a name of one’s own over HTTP, where the token has one', async () => {
    await expect(targetOf({ as: 'ada' }, { MILLRACE_URL: URL_A })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('over HTTP operator_log has the name of the token'),
    });
  });

  test('who acts over SQL', async () => {
    expect(await targetOf({ as: 'ada' }, { DATABASE_URL: DB })).toMatchObject({ actor: 'ada' });
    expect(await targetOf({}, { DATABASE_URL: DB })).toMatchObject({ actor: expect.stringMatching(/^cli:.+/) });
  });

  test('the token comes from a file if one is named', async () => {
    const file = join(await temporaryDirectory(), 'token');
    await writeFile(file, 'mlr_x\n');
    expect(await targetOf({ url: URL_A, tokenFile: file }, { MILLRACE_TOKEN: 'other' })).toMatchObject({
      token: 'mlr_x',
    });
    await expect(targetOf({ url: URL_A, tokenFile: `${file}.not` }, {})).rejects.toThrow('--token-file: ENOENT');
    await writeFile(file, '\n');
    await expect(targetOf({ url: URL_A, tokenFile: file }, {})).rejects.toThrow(`${file} is empty`);
  });
});

const TRIED = { method: 'GET', path: '/jobs', requestId: 'r', tries: 1 };

describe('an API that refuses', () => {
  const answers: [what: string, answer: ReturnType<typeof json>, code: number, message: RegExp][] = [
    [
      'no token',
      json(401, { message: 'Unauthorized' }),
      4,
      /No credentials came.*\n.*this takes the role producer, reader or operator/,
    ],
    [
      'a token it does not know',
      json(403, { message: 'Forbidden' }),
      4,
      /takes the role .*token create --name me --role producer$/m,
    ],
    [
      'no migrations',
      problem(503, 'schema-outdated', { detail: 'It needs 12.' }),
      4,
      /It needs 12\.\nThe migrations have to run/,
    ],
    [
      'a database that is away',
      problem(503, 'database-unavailable', { detail: 'It is restarting.' }),
      4,
      /^It is restarting\.$/m,
    ],
    [
      'a path too much',
      problem(404, 'no-such-route', { detail: 'The paths are …' }),
      4,
      /--url \(or MILLRACE_URL\) the address of the API alone/,
    ],
    ['another site', raw(200, '<html>'), 4, /Expected Millrace's JSON/],
    ['a redirect', raw(302, '', { location: 'https://login' }), 4, /It sends to https:\/\/login/],
    ['a bad filter', problem(400, 'invalid-query', { detail: 'Look at errors.' }), 2, /Look at errors/],
  ];
  test.for(answers)('for %s', async ([, answer, code, message]) => {
    vi.stubEnv('MILLRACE_TOKEN', 'mlr_secret');
    const { url } = await serve(answer);
    const said = await here('list', '--url', url);
    expect(said).toMatchObject({ code, stdout: '' });
    expect(said.stderr).toMatch(message);
    expect(said.stderr).not.toContain('mlr_secret');
  });

  test('or is not there', async () => {
    const { url, stop } = await serve();
    await stop();
    const { code, stderr } = await here('list', '--url', url);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /No answer from http:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED .*Is --url \(or MILLRACE_URL\) right, and is it up\?\n$/,
    );
    expect(stderr.match(/No answer/g)).toHaveLength(1);
  });

  test('or speaks no TLS', async () => {
    const { url } = await serve();
    const { code, stderr } = await here('list', '--url', url.replace('http:', 'https:'));
    expect(code).toBe(4);
    expect(stderr).toMatch(/^https:\S+: What listens there does not speak TLS\. Is it http: in place of https:\?\n$/);
  });

  test.for<[Doing, string]>([
    ['see', 'producer'],
    ['read', 'reader'],
    ['enqueue', 'producer'],
    ['act', 'operator'],
  ])('to %s the token that it names is the least that may: %s', ([doing, role]) => {
    const refused = new ApiError({ code: 'forbidden', detail: 'No.', again: false }, TRIED);
    const failure = (where: string) => String(httpFailure(refused, doing, { where, hasToken: true }));
    expect(failure('http://127.0.0.1:3000')).toMatch(new RegExp(`--role ${role}$`));
    // Those of a deployment are not in a file of this machine.
    expect(failure('https://jobs.example')).toMatch(new RegExp(`--role ${role} --secret "\\$TOKENS_SECRET_ARN"$`));
  });

  test('or has a certificate that nobody here vouches for', async ({ onTestFinished }) => {
    const pem = await readFile(new URL('../functions/certificates/this-machine.pem', import.meta.url));
    const server = createServer({ key: pem, cert: pem }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { code, stderr } = await here('list', '--url', `https://localhost:${(server.address() as AddressInfo).port}`);
    expect(code).toBe(4);
    expect(stderr).toContain('NODE_EXTRA_CA_CERTS=<file.pem>');
  });

  test('a token that is none, or a URL, is said to be wrong and not shown', async () => {
    vi.stubEnv('MILLRACE_TOKEN', 'Bearer mlr_secret');
    const { code, stderr } = await here('list', '--url', 'http://127.0.0.1:1');
    expect(code).toBe(2);
    expect(stderr).toContain('leave out "Bearer"');
    expect(stderr).not.toContain('mlr_secret');
    vi.stubEnv('MILLRACE_TOKEN', '');
    expect(await here('list', '--url', 'nowhere')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('http(s) URL'),
    });
  });

  test('and a token that would be sent for all to read is warned of', async () => {
    vi.stubEnv('MILLRACE_TOKEN', 'mlr_secret');
    const said: string[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
    await targetOf({ url: 'http://queue.example' });
    await targetOf({ url: 'http://127.0.0.1:3000' });
    vi.restoreAllMocks();
    expect(said.join('')).toMatch(/^Warning: queue\.example is asked over http/);
    expect(said).toHaveLength(1);
  });
});

describe('a database that refuses', () => {
  withLogins('a login without the rights', async ({ loginAs, own }) => {
    const { url } = await loginAs('producer');
    const { rows } = await own.pool.query(`SELECT millrace.enqueue('a', '{}') AS id`);
    expect(await here('list', '--database-url', url)).toMatchObject({ code: 0 });
    const { code, stderr } = await here('cancel', rows[0].id, '--database-url', url);
    expect(code).toBe(4);
    expect(stderr).toMatch(
      /this login may not \(permission denied.*\): it takes millrace_operator, see docs\/roles\.md/,
    );
  });

  test('a wrong database, or one without the schema', async ({ databaseUrl }) => {
    const none = new URL(databaseUrl);
    none.pathname = '/no_such_database';
    expect(await here('list', '--database-url', none.href)).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('look at the end of DATABASE_URL'),
    });
    const empty = await createDatabase(inject('serverUrl'));
    const { code, stderr } = await here('list', '--database-url', empty.url);
    await empty.drop();
    expect(code).toBe(4);
    expect(stderr).toContain('there is no schema millrace, or an old one: run npx millrace migrate');
  });

  test('no database at all', async () => {
    const { code, stderr } = await here('list', '--database-url', 'postgres://ada:secret@127.0.0.1:1/app');
    expect(code).toBe(4);
    expect(stderr).toMatch(/^127\.0\.0\.1:1\/app: connect ECONNREFUSED .*Nothing listens there: is Postgres up/);
    expect(stderr).not.toContain('secret');
  });

  const failures: [what: string, error: unknown, message: string][] = [
    [
      'a wrong password',
      postgres('28P01', 'password authentication failed for user "ada"'),
      'look at user and password',
    ],
    ['no connection left', postgres('53300', 'sorry, too many clients already'), 'try again shortly'],
    [
      'a statement_timeout',
      postgres('57014', 'canceling statement due to statement timeout'),
      'statement_timeout is too short',
    ],
    ['no answer', new DatabaseTimeoutError(15_000), 'did not answer within 15000 ms. Is it up'],
    [
      'an unknown authority',
      Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      'DATABASE_CA_FILE=',
    ],
  ];
  test.for(failures)('%s', ([, error, message]) => {
    expect(sqlFailure(error, 'see', 'db.example:5432/app')).toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(new RegExp(`^db\\.example:5432/app: .*${message.replace('?', '\\?')}`)),
    });
  });
});

/** As `pg` throws what Postgres says. */
function postgres(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, severity: 'ERROR' });
}
