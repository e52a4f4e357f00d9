import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type pg from 'pg';
import { EXIT } from '../../cli/cli-error.ts';
import { program } from '../../cli/main.ts';
import { here } from '../cli/here.ts';
import { startCli } from '../cli/run-cli.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { deadJob, finishedJob, pendingJob } from '../support/factories.ts';
import { describe, expect, test, vi } from '../support/fixtures.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
const BIN = fileURLToPath(new URL('../../bin/millrace.ts', import.meta.url));
const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
const blocks = blocksOf('docs/cli.md').map(({ name, text }) => ({ name, lines: text.trimEnd().split('\n') }));

/** The jobs that the page speaks of, and the schedule. */
async function jobsOfThePage(db: pg.Pool): Promise<void> {
  const id = (last: string) => `0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c1${last}`;
  const errors = [{ attempt: 1, name: 'TypeError', message: 'no' }];
  await deadJob(db, { id: id('1'), kind: 'invoice.send', errors });
  await pendingJob(db, { id: id('2') });
  await finishedJob(db, { id: id('3') });
  await declaredSchedule(db, { name: 'report.nightly' });
}

/** The words of a line as a shell makes them, where it has nothing else to do. */
function wordsOf(line: string): string[] | undefined {
  if (/[|>$`]/.test(line)) return undefined;
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain);
}

describe('docs/cli.md', () => {
  test.for(blocks.filter(({ name }) => name === ''))('$lines.0', async ({ lines }, { db, databaseUrl }) => {
    await jobsOfThePage(db);
    vi.stubEnv('DATABASE_URL', databaseUrl);
    const before = process.cwd();
    process.chdir(await temporaryDirectory());
    try {
      for (const line of lines) {
        const [npx, millrace, ...args] = wordsOf(line) ?? [];
        if (npx === 'npx' && millrace === 'millrace') expect(await here(...args), line).toMatchObject({ code: 0 });
        else await run('sh', ['-ec', `npx() { shift; "${process.execPath}" "${BIN}" "$@"; }\n${line}`]);
      }
    } finally {
      process.chdir(before);
      vi.unstubAllEnvs();
    }
  });

  test('tail', async ({ db, databaseUrl }) => {
    await jobsOfThePage(db);
    const { lines } = blocks.find(({ name }) => name === 'tail') as (typeof blocks)[number];
    const [, , ...args] = wordsOf(lines[0] ?? '') ?? [];
    const { sees, child, ended } = startCli(args, { env: { DATABASE_URL: databaseUrl } });
    await sees(/\tdead\tinvoice\.send\t.*\tTypeError: no\n/);
    child.kill('SIGINT');
    expect(await ended).toBe(EXIT.interrupted);
  });

  test('has every command and every exit code', async () => {
    const table = page.slice(page.indexOf('| command'), page.indexOf('## Which queue'));
    const named = [...table.matchAll(/`([a-z]+)`/g)].map(([, name]) => name);
    const commands = (await program()).commands.map((command) => command.name());
    expect(named).toEqual(commands.filter((name) => name !== 'help'));
    const codes = [...page.matchAll(/^\| (\d+) +\| /gm)].map(([, code]) => Number(code));
    expect(codes).toEqual(Object.values(EXIT));
  });
});
