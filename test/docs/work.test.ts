import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { here } from '../cli/here.ts';
import { root } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';

test('docs/work.md shows the Dockerfile that test/cli/dockerfile.test.ts runs, and options that there are', async () => {
  expect(await otherBlocksOf('docs/work.md')).toEqual(['sh work', 'sh docker']);
  const { stdout: help } = await here('work', '--help');
  const page = await readFile(join(root, 'docs/work.md'), 'utf8');
  const ours = page.replaceAll(/^(FROM|RUN|COPY|HEALTHCHECK|docker) .*$/gm, '');
  const options = [...new Set(ours.match(/(?<=[\s`"])--[a-z][a-z-]+/g))];
  expect(options.length).toBeGreaterThan(8);
  for (const option of options) expect(help, option).toContain(option);
});
