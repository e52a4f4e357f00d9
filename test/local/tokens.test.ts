import { createHash } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { test as base, describe, expect } from 'vitest';
import { tokenCommand } from '../../local/token-command.ts';
import { temporaryDirectory } from './bundle.ts';

/** `token`: `npm run token -- …` on a file of the test's own. */
const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('file', async ({}) => join(await temporaryDirectory(), '.millrace', 'tokens.json'))
  .extend('token', async ({ file }) => async (...args: string[]) => {
    const shown: string[] = [];
    const said: string[] = [];
    const terminal = { show: (line: string) => shown.push(line), say: (line: string) => said.push(line) };
    const given = args.includes('--file') ? args : [...args, '--file', file];
    const failed = await tokenCommand(given, terminal).then(
      () => undefined,
      (error: Error) => error.message,
    );
    return { shown: shown.join('\n'), said: said.join('\n'), failed };
  });

const stored = async (file: string) => JSON.parse(await readFile(file, 'utf8')).tokens;

describe('npm run token', () => {
  test('create shows the token once, and keeps its hash in a file that is its owner alone', async ({ token, file }) => {
    const { shown, said } = await token('create', '--name', 'ci', '--role', 'producer');
    expect(shown).toMatch(/^mlr_[A-Za-z0-9_-]{43}$/);
    expect(said).toContain('"ci" may call as producer until ');
    const [entry, ...others] = await stored(file);
    expect(others).toEqual([]);
    expect(entry).toEqual({
      name: 'ci',
      role: 'producer',
      sha256: createHash('sha256').update(shown).digest('hex'),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    const days = (Date.parse(entry.expires_at) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toContain(shown);
    expect(await readdir(dirname(file))).toEqual(['tokens.json']);
  });

  test('list shows names, roles and ends; revoke takes one out', async ({ token, file }) => {
    expect(await token('list')).toEqual({ shown: '', said: `There are no tokens in ${file}.`, failed: undefined });
    await token('create', '--name', 'ci', '--role', 'producer');
    await token('create', '--name', 'on-call', '--role', 'operator', '--days', '1');
    const { shown } = await token('list');
    expect(shown.split('\n').map((line) => line.split('\t').slice(0, 2))).toEqual([
      ['ci', 'producer'],
      ['on-call', 'operator'],
    ]);
    for (const { sha256 } of await stored(file)) expect(shown).not.toContain(sha256);
    expect(await token('revoke', '--name', 'ci')).toMatchObject({ said: '"ci" is revoked.', failed: undefined });
    expect((await stored(file)).map(({ name }: { name: string }) => name)).toEqual(['on-call']);
  });

  test('one that has expired is shown as such, and its name is free', async ({ token, file }) => {
    await token('create', '--name', 'ci', '--role', 'producer');
    const [entry] = await stored(file);
    await writeFile(file, JSON.stringify({ tokens: [{ ...entry, expires_at: '2020-01-01T00:00:00Z' }] }));
    expect((await token('list')).shown).toBe('ci\tproducer\t2020-01-01T00:00:00Z\texpired');
    await token('create', '--name', 'CI', '--role', 'reader');
    expect(await stored(file)).toMatchObject([{ name: 'CI', role: 'reader' }]);
  });

  test('of those at the same time each gets in, or is told to try again', async ({ token, file }) => {
    const made = await Promise.all(['a', 'b', 'c'].map((name) => token('create', '--name', name, '--role', 'reader')));
    const failures = made.flatMap(({ failed }) => failed ?? []);
    expect(await stored(file)).toHaveLength(made.length - failures.length);
    for (const failed of failures) expect(failed).toContain('try again');
  });

  test.for<[string[], string]>([
    [[], 'say what to do: create, list or revoke'],
    [['destroy'], 'there is no "destroy"'],
    [['create', '--name', 'ci'], '--role is missing; it takes producer, reader, operator'],
    [['create', '--name', 'ci', '--role', 'admin'], 'not "admin"'],
    [['create', '--role', 'reader'], '--name is missing; it takes'],
    [['create', '--name', 'a b', '--role', 'reader'], '--name takes'],
    [['create', '--name', 'ci', '--role', 'reader', '--days', '0'], 'a whole number from 1 to 3650, not "0"'],
    [['create', '--name', 'ci', '--role', 'reader', '--days', '3651'], 'not "3651"'],
    [['create', '--name', 'ci', '--role', 'reader', '--days', '1.5'], 'not "1.5"'],
    [['create', 'ci', '--role', 'reader'], '"ci" is one word too many'],
    [['create', '--nmae', 'ci'], "'--nmae'"],
  ])('%j says what is wrong and how it goes', async ([args, sentence], { token, file }) => {
    const { shown, failed } = await token(...args);
    expect(shown).toBe('');
    expect(failed).toContain(sentence);
    expect(failed).toContain('usage: npm run token -- create --name ci --role');
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  test('says in a sentence what cannot be done', async ({ token, file }) => {
    await token('create', '--name', 'ci', '--role', 'reader');
    const before = await readFile(file, 'utf8');
    expect((await token('create', '--name', 'CI', '--role', 'reader')).failed).toBe(
      'There is a token "CI" already: revoke it first, or take another name.',
    );
    expect((await token('revoke', '--name', 'other')).failed).toContain('There is no token "other" in ');
    expect(await readFile(file, 'utf8')).toBe(before);
    await writeFile(file, '{"tokens":[{"name":"x"}]}');
    expect((await token('list')).failed).toContain('is to be mended by hand first, for tokens[0]: role must be');
    await writeFile(file, 'mlr_x');
    expect((await token('create', '--name', 'new', '--role', 'reader')).failed).toMatch(/is not JSON\.$/);
    expect(await readFile(file, 'utf8')).toBe('mlr_x');
  });

  test('the token alone goes to stdout, and a failure is exit code 1', async ({ file }) => {
    const program = fileURLToPath(new URL('../../bin/token.ts', import.meta.url));
    const run = () =>
      execa(process.execPath, [program, 'create', '--name', 'ci', '--role', 'reader', '--file', file], {
        reject: false,
      });
    expect(await run()).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^mlr_\S{43}$/) });
    expect(await run()).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('already') });
  });
});
