import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Platform } from '../../lib/bundles/native-modules.ts';
import { readRecipe } from '../../local/reload/recipe.ts';
import { handlerBundle } from '../support/handler-bundle.ts';

/** A project whose processors import a module beside them, which nothing of is left in the bundle, and one elsewhere. */
async function project() {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-recipe-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'jobs'));
  const files = {
    'jobs/processors.ts': `import { word } from './words.ts'; export const processors = { say: () => word };`,
    'jobs/words.ts': `export { word } from '../word.ts';`,
    'word.ts': `export const word: string = 'one';`,
  };
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  const bundle = (platform: Platform) =>
    dirname(
      handlerBundle('work', join(folder, 'cdk.out'), {
        projectRoot: folder,
        processors: join(folder, 'jobs/processors.ts'),
        platform,
      }),
    );
  return { folder, bundle };
}

test('a bundle for this machine says how it was built, and of what', async () => {
  const { folder, bundle } = await project();
  const directory = bundle('host');
  const recipe = await readRecipe(directory);
  const own = recipe?.sources.filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length + 1));
  expect(own?.sort()).toEqual(['jobs/processors.ts', 'jobs/words.ts', 'word.ts']);
  expect(Object.keys(recipe?.options.entryPoints ?? {})).toEqual(['work/index']);
  expect(recipe?.sources.filter((path) => path.includes('node_modules'))).toEqual([]);
  const { sources } = JSON.parse(await readFile(join(directory, 'index.mjs.map'), 'utf8')) as { sources: string[] };
  expect(sources.map((path) => resolve(directory, path))).toContain(join(folder, 'word.ts'));
});

test('one that is deployed does not', async () => {
  const { bundle } = await project();
  expect(await readdir(bundle({ os: 'linux', cpu: 'arm64', libc: 'glibc' }))).not.toContain('millrace-build.json');
});
