import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** A folder inside the project, so that its packages and its own name are found from there; gone when the test is over. */
export async function folderInProject(name: string): Promise<string> {
  // Ignored by git.
  await mkdir(join(root, 'dist'), { recursive: true });
  const folder = await mkdtemp(join(root, 'dist', `${name}-`));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * What the compiler says of the files in that folder, with the project's settings: a line for each error.
 * @param own - settings that differ
 */
export async function typeErrors(folder: string, own: object = {}): Promise<string[]> {
  const compilerOptions = { rewriteRelativeImportExtensions: false, ...own };
  const settings = { extends: join(root, 'tsconfig.json'), include: ['*.ts'], compilerOptions };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--pretty', 'false', '-p', folder];
  return run(process.execPath, tsc).then(
    () => [],
    ({ stdout, stderr }) => {
      const lines = `${stdout}${stderr}`.split('\n');
      const errors = lines.filter((line) => line.includes('error TS'));
      return errors.length > 0 ? errors : lines;
    },
  );
}
