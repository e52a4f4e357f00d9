import { cp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderInProject, typeErrors } from '../support/typescript.ts';
import { root } from './blocks.ts';

/** Those of other folders are compiled where they are run, since they need packages of their own. */
const FOLDERS = ['encryption', 'moving', 'processors', 'recurring', 'upgrading'];

test('the examples of the pages compile', { timeout: 90_000 }, async () => {
  const folder = await folderInProject('examples');
  const files: string[] = [];
  for (const name of FOLDERS) {
    await cp(join(root, 'examples', name), join(folder, name), { recursive: true });
    files.push(...(await readdir(join(folder, name))).map((file) => `./${name}/${file}`));
  }
  await writeFile(join(folder, 'all.ts'), files.map((file) => `import '${file}';`).join('\n'));
  expect(files.length).toBeGreaterThan(8);
  expect(await typeErrors(folder)).toEqual([]);
});
