import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { DRAIN_GOAL_SECONDS, runsNeeded, type Seen } from '../../functions/queue/start.ts';
import { maxConnectionsOf } from '../../lib/database/instance-memory.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';
import { aligned, rowsBelow } from './tables.ts';

const run = promisify(execFile);
const file = join(root, 'docs/choosing.md');
const page = await readFile(file, 'utf8');

test('docs/choosing.md shows a command of the simulator, and an example that construct.test.ts synthesizes', () => {
  const shown = blocksOf('docs/choosing.md').map(({ language, name }) => `${language} ${name}`);
  expect(shown).toEqual(['sh simulate', 'ts databases']);
});

test('it has the connections of each class as the construct estimates them', () => {
  const rows = rowsBelow(page, '| class ');
  expect(rows.length).toBeGreaterThan(4);
  for (const [name = '', , connections] of rows) {
    const [instanceClass = ''] = name.split(' ');
    expect(`${instanceClass} ${connections}`).toBe(`${instanceClass} ${maxConnectionsOf([instanceClass])}`);
  }
});

test('it has the sum by which a start decides', () => {
  expect(page).toContain(`(in flight + due × seconds a job takes ÷ ${DRAIN_GOAL_SECONDS}) ÷ concurrency`);
  const seen: Seen = { holder: undefined, inFlight: 10, due: 400, jobSeconds: 2 };
  expect(runsNeeded(seen, 10)).toBe((10 + (400 * 2) / DRAIN_GOAL_SECONDS) / 10);
});

describe('what the simulator says', () => {
  /** Columns of docs/simulator.md, by their number, and what they are called here. */
  const COLUMNS: readonly [number, string][] = [
    [0, 'load'],
    [1, '`pickup`'],
    [2, 'starts, p50'],
    [3, 'p99'],
    [4, 'runs at most'],
    [8, '$ a month'],
    [9, '$ a million'],
    [10, 'SQS + Lambda: starts, p50'],
    [12, '$ a month'],
  ];
  const BETWEEN = /(<!-- of simulator.md -->\n\n)[\s\S]*?(<!-- end -->)/;

  test('can be asked for any load', { timeout: 30_000 }, async () => {
    const command = blockNamed(blocksOf('docs/choosing.md'), 'simulate').replace(
      'npm run simulate --',
      'node bin/simulate.ts',
    );
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', command], { cwd: root });
    expect(stdout).toMatch(/p99/);
  });

  // When those have changed: npx vitest run test/docs/choosing.test.ts --update
  test('is repeated as it stands in docs/simulator.md', async () => {
    const rows = rowsBelow(await readFile(join(root, 'docs/simulator.md'), 'utf8'), '| load ');
    expect(rows.length).toBeGreaterThan(8);
    const table = [COLUMNS.map(([, name]) => name), ...rows.map((row) => COLUMNS.map(([at]) => row[at] as string))];
    expect(page).toMatch(BETWEEN);
    const upToDate = page.replace(BETWEEN, (_, before, after) => `${before}${aligned(table)}\n\n${after}`);
    await expect(upToDate).toMatchFileSnapshot(file);
  });
});
