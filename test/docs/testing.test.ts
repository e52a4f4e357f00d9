import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '../support/fixtures.ts';
import { folderInProject, typeErrors } from '../support/typescript.ts';
import { rowsOutside } from '../testing/ground.ts';
import { blocksOf, isFile, root } from './blocks.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/testing.md');

describe('docs/testing.md', () => {
  test('shows files as they are, and nothing else but the table', async () => {
    expect(blocks.filter((block) => !isFile(block)).map(({ language }) => language)).toEqual(['sql']);
    for (const { name, text } of blocks.filter(isFile))
      expect(text, name).toBe(await readFile(join(root, name), 'utf8'));
  });

  test('its application and its tests compile and pass, and leave nothing behind', { timeout: 90_000 }, async ({
    own,
  }) => {
    const table = blocks.find(({ language }) => language === 'sql')?.text;
    await own.pool.query(table as string);
    const folder = await folderInProject('testing');
    await cp(join(root, 'examples/testing'), folder, { recursive: true });
    expect(await typeErrors(folder)).toEqual([]);

    const { stdout } = await run(process.execPath, ['--test', '--test-reporter', 'tap', join(folder, '*.test.ts')], {
      env: { PATH: process.env.PATH, DATABASE_URL: own.url },
    }).catch(({ stdout }) => expect.fail(stdout));
    const tests = blocks.flatMap(({ text }) => [...text.matchAll(/^test\('(.*)', async/gm)].map(([, name]) => name));
    expect(tests.length).toBeGreaterThan(3);
    for (const name of tests) expect(stdout).toMatch(new RegExp(`^ *ok \\d+ - ${name}$`, 'm'));
    expect(await rowsOutside(own.pool)).toBe(0);
    expect((await own.pool.query('SELECT * FROM invoices')).rows).toEqual([]);
  });
});
