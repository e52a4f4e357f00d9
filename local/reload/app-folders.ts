import { existsSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Folders with the sources of the CDK app, as far as one can tell without running it: those of the files that its command
 * names, and `lib`, where `cdk init` puts stacks. Not the project's own, which has many other files.
 */
export async function appFolders(projectDirectory: string, app: string | undefined): Promise<string[]> {
  const command = app ?? (await commandIn(projectDirectory));
  const named = command
    .split(/[\s"']+/)
    .map((word) => resolve(projectDirectory, word))
    .filter((path) => existsSync(path) && statSync(path).isFile())
    .map((path) => dirname(path));
  const lib = join(projectDirectory, 'lib');
  const folders = new Set([...named, ...(existsSync(lib) ? await withFolders(lib) : [])]);
  folders.delete(projectDirectory);
  return [...folders].filter((folder) => folder.startsWith(`${projectDirectory}/`) && !folder.includes('node_modules'));
}

async function commandIn(directory: string): Promise<string> {
  const text = await readFile(join(directory, 'cdk.json'), 'utf8').catch(() => '{}');
  return String(JSON.parse(text).app ?? '');
}

async function withFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const inside = entries.filter((entry) => entry.isDirectory()).map(({ parentPath, name }) => join(parentPath, name));
  return [folder, ...inside];
}
