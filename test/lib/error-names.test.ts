import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { build } from '../../lib/bundles/build.ts';
import { folderInProject } from '../support/typescript.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Classes of errors by the file that has them. An error's name goes into the database, into logs and to clients. */
const classes = globSync('{client,functions,testing}/**/*.ts', { cwd: root })
  .sort()
  .flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^(?:export )?(?:abstract )?class (\w+) extends (\w+)/gm)].map(
      ([, name = '', base = '']) => ({ file, name, base }),
    ),
  );
const errors = classes.filter(({ base }) => base === 'Error' || isError(base));

function isError(name: string): boolean {
  return classes.some((own) => own.name === name && (own.base === 'Error' || isError(own.base)));
}

test('there are classes of errors', () => {
  expect(errors.map(({ name }) => name)).toEqual(
    expect.arrayContaining([
      'MillraceError',
      'PermanentError',
      'ApiError',
      'MigrationFailedError',
      'ConfigurationError',
    ]),
  );
});

/** Bundles do not keep names, which would cost 6% of them: a class says its own. */
test('each keeps its name where names are shortened', async () => {
  const folder = await folderInProject('names');
  const imports = errors.map(({ file, name }) => `export { ${name} } from ${JSON.stringify(join(root, file))};`);
  const entry = join(folder, 'errors.ts');
  await writeFile(entry, imports.join('\n'));
  for (const [path, contents] of build({ entryPoints: [entry], entryNames: 'errors', external: ['#sdk/*'] })) {
    await writeFile(join(folder, path), contents);
  }
  const bundled: Record<string, { name: string }> = await import(pathToFileURL(join(folder, 'errors.mjs')).href);
  const names = errors.map(({ name }) => [name, bundled[name]?.name]);
  expect(names).toEqual(errors.map(({ name }) => [name, name]));
});

test('an error of a processor keeps the name of its own class', async () => {
  const { PermanentError } = await import('../../functions/queue/errors.ts');
  class AddressGone extends PermanentError {}
  expect(new AddressGone('gone').name).toBe('AddressGone');
});
