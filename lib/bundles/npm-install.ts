import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { refuseUncompiled } from './install-scripts.ts';
import { above, manifestOf, packagesIn } from './installed-package.ts';
import type { Platform } from './native-modules.ts';

/**
 * Makes a folder with these files, a package.json among them, and what that asks for in `node_modules`.
 * @param importer - a file of the project, whose settings of npm count
 * @throws Error with what npm says, or with what must not be installed
 */
export function install(
  folder: string,
  files: Readonly<Record<string, object>>,
  { importer, platform }: { readonly importer: string; readonly platform: Platform },
): void {
  mkdirSync(dirname(folder), { recursive: true });
  // Made elsewhere and moved: whoever finds the folder finds it whole, also when two synthesize at once.
  const draft = mkdtempSync(join(dirname(folder), `.${basename(folder)}-`));
  try {
    for (const [name, contents] of Object.entries(files)) writeFileSync(join(draft, name), JSON.stringify(contents));
    const settings = above(importer, '.npmrc');
    if (settings !== undefined) copyFileSync(settings, join(draft, '.npmrc'));
    runNpm(draft, platform);
    if (lacksBuild(draft)) {
      // A lock may know only what the machine of its author needed, and npm before 11 goes by it (npm/cli#4828).
      for (const name of ['package-lock.json', 'node_modules'])
        rmSync(join(draft, name), { recursive: true, force: true });
      runNpm(draft, platform);
    }
    rmSync(join(draft, '.npmrc'), { force: true });
    refuseUncompiled(draft);
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function runNpm(folder: string, platform: Platform): void {
  const target = platform === 'host' ? [] : [`--os=${platform.os}`, `--cpu=${platform.cpu}`, `--libc=${platform.libc}`];
  const quiet = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const rules = ['--omit=dev', '--ignore-scripts', '--no-bin-links', '--prefer-offline', '--no-workspaces'];
  const { status, stderr, error } = spawnSync('npm', ['install', ...target, ...rules, ...quiet], {
    cwd: folder,
    // npm is a script there, which only a shell runs.
    shell: process.platform === 'win32',
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim().split('\n').slice(0, 12).join('\n');
  throw new Error(`npm could not install what bundling.nodeModules names:\n${reason}`);
}

/** Whether a package that has its native code in others, one for each platform, has got none of them. */
function lacksBuild(folder: string): boolean {
  return packagesIn(folder).some((owner) => {
    const builds = Object.keys(manifestOf(owner).optionalDependencies ?? {}).filter((name) => name.includes('linux'));
    const places = [join(owner, 'node_modules'), join(folder, 'node_modules')];
    return builds.length > 0 && !builds.some((name) => places.some((place) => existsSync(join(place, name))));
  });
}
