import { cp, readFile, rename } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';

const root = fileURLToPath(new URL('../../../', import.meta.url));
export const APP = fileURLToPath(new URL('app/', import.meta.url));

/** The project's Node before the one that npm may have come with. */
const bin = join(root, 'node_modules', '.bin');
export const env = { PATH: `${bin}${delimiter}${process.env.PATH}`, npm_config_update_notifier: 'false' };

/** Makes the package as it would be published, in that folder, and `millrace.tgz` of it. Resolves its manifest. */
export async function pack(folder: string): Promise<{ dependencies: Record<string, string> }> {
  const built = join(folder, 'millrace');
  await execa(process.execPath, [join(root, 'bin/pack.ts'), '--out', built]);
  const { stdout } = await execa('npm', ['pack', '--silent', built], { cwd: folder, env });
  await rename(join(folder, stdout.trim()), join(folder, 'millrace.tgz'));
  return JSON.parse(await readFile(join(built, 'package.json'), 'utf8'));
}

/**
 * A copy of the application in that folder, where nothing of the repository is found, with all that its lock names and the
 * package of this moment. No scripts of packages run. Resolves where it is.
 */
export async function install(folder: string): Promise<string> {
  const app = join(folder, 'app');
  await cp(APP, app, { recursive: true, filter: (path) => !path.includes('node_modules') });
  const { dependencies } = await pack(folder);
  const { packages } = JSON.parse(await readFile(join(app, 'package-lock.json'), 'utf8'));
  if (JSON.stringify(packages['node_modules/millrace'].dependencies) !== JSON.stringify(dependencies)) {
    throw new Error(
      'The lock of test/consumer/stack/app is older than our dependencies: run node test/consumer/stack/lock.ts',
    );
  }
  await rename(join(folder, 'millrace.tgz'), join(app, 'millrace.tgz'));
  await execa('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: app, env });
  return app;
}
