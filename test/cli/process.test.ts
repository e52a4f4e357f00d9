import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { widthOf } from '../../cli/width.ts';
import { deadJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { runCli, startCli } from './run-cli.ts';

const BIN = fileURLToPath(new URL('../../bin/millrace.ts', import.meta.url));
const ESC = '\x1b';
/** util-linux has it, and other systems one that takes other options. */
const canBeTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;

describe('as a process', () => {
  test('ends quietly when whoever reads its output has enough', async ({ db, databaseUrl }) => {
    await db.query(`SELECT millrace.enqueue('many', '{}') FROM generate_series(1, 2000)`);
    const { status, stdout, stderr } = spawnSync(
      'sh',
      ['-c', `"${process.execPath}" "${BIN}" list --all | head -n 1`],
      { env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl }, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^\S+\tpending\tmany\t[^\n]*\n$/);
  });

  test.runIf(existsSync('/dev/full')).for([
    ['list --json', 1],
    ['list --nonsense 2>/dev/full', 2],
  ])('output that is lost is no success, words that are lost change nothing: %s', ([line, code], { databaseUrl }) => {
    const { status, stderr } = spawnSync('sh', ['-c', `"${process.execPath}" "${BIN}" ${line} >/dev/full`], {
      env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl },
      encoding: 'utf8',
    });
    expect(status).toBe(code);
    if (code === 1) expect(stderr).toMatch(/^The output cannot be written: ENOSPC/);
  });

  test('ends quietly at Ctrl-C, with exit code 130', async ({ databaseUrl }) => {
    const { sees, child, ended, stderr } = startCli(['stats', '--watch'], { env: { DATABASE_URL: databaseUrl } });
    await sees(/No worker has ever been there\.\n/);
    const said = stderr();
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(stderr()).toBe(said);
  });

  test('exits with what went wrong', async () => {
    expect(await runCli(['list'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Which queue?'),
    });
  });
});

describe.runIf(canBeTerminal)('on a terminal', () => {
  test('a table keeps to its width, with titles, colours and times as people say them', async ({ db, databaseUrl }) => {
    const { id } = await deadJob(db, { subject: `日本語-${'x'.repeat(80)}`, createdSecondsAgo: 7300 });
    const env = { DATABASE_URL: databaseUrl };
    const { code, stdout } = await runCli(['list'], { env, columns: 100 });
    expect(code).toBe(0);
    const [titles = '', line = ''] = stdout.split('\r\n');
    expect(titles).toContain(`${ESC}[1mstatus${ESC}[22m`);
    expect(line).toContain(`${id}  ${ESC}[31mdead${ESC}[39m`);
    const plain = stripVTControlCharacters(line);
    expect(plain).toMatch(/ {2}日本語-x+… {2,}5\/5 {2}2h ago {3}Error: boom$/);
    expect(widthOf(plain)).toBeLessThanOrEqual(100);

    const uncoloured = await runCli(['list'], { env: { ...env, NO_COLOR: '1' }, columns: 100 });
    expect(uncoloured.stdout).not.toContain(ESC);
    expect(uncoloured.stdout).toContain(plain);

    const usual = await runCli(['list'], { env, columns: 80 });
    for (const row of stripVTControlCharacters(usual.stdout).trimEnd().split('\r\n')) {
      expect(widthOf(row)).toBeLessThanOrEqual(80);
      expect(row).toMatch(/^(id|[0-9a-f-]{36}) /);
    }
  });
});
