import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { test as base, describe, expect, onTestFinished, vi } from 'vitest';
import { tokensOf } from '../../functions/lambda/tokens.ts';
import { startRelay } from '../client/relay.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { type SecretsManager, startSecretsManager } from '../support/secrets-manager.ts';
import { here } from './here.ts';

const MILLRACE = fileURLToPath(new URL('../../bin/millrace.ts', import.meta.url));

/** `token`: `npx millrace token …` on a file of the test's own. */
const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('file', async ({}) => join(await temporaryDirectory(), '.millrace', 'tokens.json'))
  .extend('token', async ({ file }) => (...args: string[]) => {
    const [verb = '', ...rest] = args;
    return here('token', verb, '--file', file, ...rest);
  });

const stored = async (file: string) => JSON.parse(await readFile(file, 'utf8')).tokens;

describe('tokens of a file', () => {
  test('create shows the token once, and keeps its hash in a file that is its owner’s alone', async ({
    token,
    file,
  }) => {
    const { stdout, stderr } = await token('create', '--name', 'ci', '--role', 'producer');
    expect(stdout).toMatch(/^mlr_[A-Za-z0-9_-]{43}\n$/);
    expect(stderr).toContain('"ci" may call as producer until ');
    // Whoever has forgotten --secret sees that it opens no deployment.
    expect(stderr).toContain(`, by ${file}. This is its token`);
    expect(stderr).not.toContain(stdout.trim());
    const [entry, ...others] = await stored(file);
    expect(others).toEqual([]);
    expect(entry).toEqual({
      name: 'ci',
      role: 'producer',
      sha256: createHash('sha256').update(stdout.trim()).digest('hex'),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const days = (Date.parse(entry.expires_at) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toContain(stdout.trim());
    expect(await readdir(dirname(file))).toEqual(['tokens.json']);
  });

  test('a file that cannot be used is named', async ({ token, file }) => {
    await mkdir(file, { recursive: true });
    for (const args of [['list'], ['create', '--name', 'ci', '--role', 'reader'], ['revoke', '--name', 'ci']]) {
      const { code, stdout, stderr } = await token(...args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain(`--file ${file} cannot be used: EISDIR`);
    }
    const { code, stderr } = await here('token', 'list', '--file', '');
    expect(code).toBe(2);
    expect(stderr).toContain('is the variable set?');
  });

  test('list shows names, roles and ends; revoke takes one out', async ({ token, file }) => {
    expect(await token('list')).toEqual({ code: 0, stdout: '', stderr: `There are no tokens in ${file}.\n` });
    await token('create', '--name', 'ci', '--role', 'producer');
    await token('create', '--name', 'on-call', '--role', 'operator', '--days', '1');
    const { stdout } = await token('list');
    expect(stdout).toMatch(/^ci\tproducer\t\S+Z\t$/m);
    expect(stdout).toMatch(/^on-call\toperator\t\S+Z\t$/m);
    for (const { sha256 } of await stored(file)) expect(stdout).not.toContain(sha256);
    expect(await token('revoke', '--name', 'ci')).toEqual({ code: 0, stdout: '', stderr: '"ci" is revoked.\n' });
    expect((await stored(file)).map(({ name }: { name: string }) => name)).toEqual(['on-call']);
  });

  test('for machines everything is JSON', async ({ token, file }) => {
    const made = JSON.parse((await token('create', '--name', 'ci', '--role', 'reader', '--json')).stdout);
    const [{ expires_at }] = await stored(file);
    expect(made).toEqual({ name: 'ci', role: 'reader', expires_at, token: expect.stringMatching(/^mlr_/) });
    const listed = JSON.parse((await token('list', '--json')).stdout);
    expect(listed).toEqual([{ name: 'ci', role: 'reader', expires_at, expired: false }]);
    expect(JSON.parse((await token('revoke', '--name', 'ci', '--json')).stdout)).toEqual({ name: 'ci', revoked: true });
  });

  test('one that has expired is shown as such, and its name is free', async ({ token, file }) => {
    await token('create', '--name', 'ci', '--role', 'producer');
    const [entry] = await stored(file);
    await writeFile(file, JSON.stringify({ tokens: [{ ...entry, expires_at: '2020-01-01T00:00:00Z' }] }));
    expect((await token('list')).stdout).toMatch(/^ci\tproducer\t2020-01-01T00:00:00Z\texpired$/m);
    expect(JSON.parse((await token('list', '--json')).stdout)).toMatchObject([{ name: 'ci', expired: true }]);
    await token('create', '--name', 'CI', '--role', 'reader');
    expect(await stored(file)).toMatchObject([{ name: 'CI', role: 'reader' }]);
  });

  test.for<[string[], string]>([
    [['create', '--name', 'ci'], "required option '--role <role>'"],
    [['create', '--name', 'ci', '--role', 'admin'], 'Allowed choices are producer, reader, operator'],
    [['create', '--role', 'reader'], "required option '--name <name>'"],
    [['create', '--name', 'a b', '--role', 'reader'], 'up to 100 of letters, digits'],
    [['create', '--name', 'ci', '--role', 'reader', '--days', '0'], '--days'],
    [['create', '--name', 'ci', '--role', 'reader', '--days', '3651'], '3650'],
    [['create', 'ci', '--role', 'reader', '--name', 'ci'], 'too many arguments'],
    [['create', '--name', 'ci', '--role', 'reader', '--dyas', '1'], "'--dyas'"],
    [['create', '--name', 'ci', '--role', 'reader', '--secret', 'arn'], 'cannot be used with'],
  ])('%j says what is wrong, with exit code 2', async ([args, sentence], { token, file }) => {
    const { code, stdout, stderr } = await token(...args);
    expect(stdout).toBe('');
    expect(stderr).toContain(sentence);
    expect(code).toBe(2);
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  test('says in a sentence what cannot be done', async ({ token, file }) => {
    await token('create', '--name', 'ci', '--role', 'reader');
    const before = await readFile(file, 'utf8');
    expect(await token('create', '--name', 'CI', '--role', 'reader')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'There is a token "CI" already: revoke it first, or take another name.\n',
    });
    expect((await token('revoke', '--name', 'other')).stderr).toContain('There is no token "other" in ');
    expect(await readFile(file, 'utf8')).toBe(before);
    await writeFile(file, '{"tokens":[{"name":"x"}]}');
    expect((await token('list')).stderr).toContain('is to be mended by hand first, for tokens[0]: role must be');
    await writeFile(file, 'mlr_x');
    expect((await token('create', '--name', 'new', '--role', 'reader')).stderr).toMatch(/is not JSON\.\n$/);
    expect(await readFile(file, 'utf8')).toBe('mlr_x');
  });

  test('of those at the same time each gets in, or is told to try again', async ({ file }) => {
    const run = (name: string) =>
      execa(process.execPath, [MILLRACE, 'token', 'create', '--name', name, '--role', 'reader', '--file', file], {
        reject: false,
      });
    const made = await Promise.all(['a', 'b', 'c'].map(run));
    const failures = made.filter(({ exitCode }) => exitCode !== 0);
    expect(await stored(file)).toHaveLength(made.length - failures.length);
    for (const { exitCode, stdout, stderr } of failures) {
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toContain('try again');
    }
    for (const { stdout } of made.filter(({ exitCode }) => exitCode === 0)) expect(stdout).toMatch(/^mlr_\S{43}$/);
  });
});

describe('tokens of a deployment’s secret', () => {
  /** A secret as a deploy leaves it, and `token` on it. */
  const deployed = test
    // biome-ignore lint/correctness/noEmptyPattern: as above
    .extend('aws', async ({}, { onCleanup }) => {
      const manager = await startSecretsManager();
      for (const [name, value] of Object.entries(manager.environment)) vi.stubEnv(name, value);
      onCleanup(async () => {
        vi.unstubAllEnvs();
        await manager.close();
      });
      return manager;
    })
    .extend('secret', async ({ aws }) => aws.create({ tokens: [] }))
    .extend('onSecret', async ({ secret }) => (...args: string[]) => {
      const [verb = '', ...rest] = args;
      return here('token', verb, '--secret', secret, ...rest);
    });

  const kept = (aws: SecretsManager, secret: string) => tokensOf(JSON.stringify(aws.value(secret))).usable;
  const names = (aws: SecretsManager, secret: string) => kept(aws, secret).map(({ name }) => name);

  deployed('create, list and revoke are one command each', async ({ aws, secret, onSecret }) => {
    const { code, stdout } = await onSecret('create', '--name', 'me', '--role', 'operator');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^mlr_\S{43}\n$/);
    const sha256 = createHash('sha256').update(stdout.trim()).digest('hex');
    expect(kept(aws, secret)).toMatchObject([{ name: 'me', role: 'operator', sha256 }]);
    expect(JSON.stringify(aws.value(secret))).not.toContain(stdout.trim());
    expect((await onSecret('list')).stdout).toMatch(/^me\toperator\t/m);
    expect((await onSecret('revoke', '--name', 'me')).code).toBe(0);
    expect(aws.value(secret)).toEqual({ tokens: [] });
    expect((await onSecret('list')).stderr).toBe(`There are no tokens in ${secret}.\n`);
  });

  deployed('what somebody else puts between reading and writing is not lost', async ({ aws, secret, onSecret }) => {
    const other = { name: 'theirs', role: 'reader', sha256: 'a'.repeat(64), expires_at: '2099-01-01T00:00:00Z' };
    const asked: string[] = [];
    aws.onRequest = () => {
      const latest = aws.asked.at(-1) ?? '';
      // Just before ours becomes the current one.
      if (latest === 'UpdateSecretVersionStage AWSCURRENT' && !asked.includes(latest))
        aws.put(secret, { tokens: [other] });
      asked.push(latest);
    };
    expect((await onSecret('create', '--name', 'ours', '--role', 'reader')).code).toBe(0);
    expect(names(aws, secret)).toEqual(['theirs', 'ours']);
    // Nor is what others put undone if they do so each time: then nothing of ours is there.
    aws.onRequest = () => {
      if (aws.asked.at(-1) === 'UpdateSecretVersionStage AWSCURRENT') aws.put(secret, { tokens: [other] });
    };
    const { code, stdout, stderr } = await onSecret('create', '--name', 'late', '--role', 'reader');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('changes all the time');
    expect(names(aws, secret)).toEqual(['theirs']);
  });

  deployed('two at the same time both get in', async ({ aws, secret }) => {
    const run = (name: string) =>
      execa(process.execPath, [MILLRACE, 'token', 'create', '--name', name, '--role', 'reader', '--secret', secret], {
        env: aws.environment,
      });
    await Promise.all([run('one'), run('two')]);
    expect(names(aws, secret).toSorted()).toEqual(['one', 'two']);
  });

  deployed('a throttled request is tried again', async ({ aws, secret, onSecret }) => {
    aws.mode = { throttle: 1 };
    const { code, stdout } = await onSecret('create', '--name', 'me', '--role', 'reader');
    expect(code).toBe(0);
    const sha256 = createHash('sha256').update(stdout.trim()).digest('hex');
    expect(kept(aws, secret)).toMatchObject([{ sha256 }]);
  });

  deployed('a change whose answer got lost counts as done', async ({ aws, secret, onSecret }) => {
    const relay = await startRelay(String(aws.environment.AWS_ENDPOINT_URL_SECRETS_MANAGER));
    onTestFinished(() => relay.close());
    vi.stubEnv('AWS_ENDPOINT_URL_SECRETS_MANAGER', relay.url);
    const moves = () => aws.asked.filter((one) => one === 'UpdateSecretVersionStage AWSCURRENT').length;
    aws.onRequest = () => {
      if (aws.asked.at(-1)?.startsWith('Update') && moves() === 1) relay.loseAnswerTo('POST', '/');
    };
    const { code, stdout } = await onSecret('create', '--name', 'me', '--role', 'reader');
    expect(code).toBe(0);
    expect(moves()).toBe(2);
    const sha256 = createHash('sha256').update(stdout.trim()).digest('hex');
    expect(kept(aws, secret)).toMatchObject([{ sha256 }]);
  });

  deployed('an entry that cannot be used is not thrown away', async ({ aws, onSecret, secret }) => {
    aws.put(secret, { tokens: [{ name: 'x' }] });
    const { code, stderr } = await onSecret('create', '--name', 'me', '--role', 'reader');
    expect(code).toBe(1);
    expect(stderr).toContain(`${secret} is to be mended by hand first, for tokens[0]`);
    expect(aws.value(secret)).toEqual({ tokens: [{ name: 'x' }] });
  });

  deployed('says what to do about a secret that is not there, and about refusals', async ({ aws }) => {
    const missing = await here('token', 'list', '--secret', 'arn:aws:secretsmanager:us-east-1:1:secret:none');
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('the output TokensSecretArn') });
    const elsewhere = await here('token', 'list', '--secret', 'x', '--region', 'eu-west-1');
    expect(elsewhere).toMatchObject({ code: 4, stderr: expect.stringContaining('IncompleteSignatureException') });
    await aws.close();
    const down = await here('token', 'list', '--secret', 'x');
    expect(down).toMatchObject({ code: 4, stderr: expect.stringContaining('ECONNREFUSED') });
  });

  deployed('an empty variable in place of the secret does not pass for the file', async () => {
    const { code, stderr } = await here('token', 'create', '--name', 'me', '--role', 'reader', '--secret', '');
    expect(code).toBe(2);
    expect(stderr).toContain('is the variable set?');
  });

  deployed('without the AWS SDK it says how to get it', async ({ aws, secret }) => {
    const cwd = await temporaryDirectory();
    const { exitCode, stdout, stderr } = await execa(
      process.execPath,
      [MILLRACE, 'token', 'list', '--secret', secret],
      { cwd, env: aws.environment, reject: false },
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toContain('npm install --no-save @aws-sdk/client-secrets-manager');
  });
});
