import { terminal } from '../terminal.ts';
import { carryOut } from './carry-out.ts';
import { installPackages } from './install.ts';
import { nextSteps } from './next-steps.ts';
import { ownSpec } from './own-spec.ts';
import { plan } from './plan.ts';
import { readProject } from './project.ts';

export interface InitOptions {
  readonly dryRun?: boolean;
  readonly install: boolean;
  readonly force?: boolean;
  readonly package?: string;
}

/** `millrace init` in that folder. Says what it does as it goes. */
export async function initCommand(folder: string, options: InitOptions): Promise<void> {
  const project = readProject(folder);
  const { changes, left } = plan(project, {
    spec: () => options.package ?? ownSpec(folder),
    force: options.force === true,
  });
  const wantsPackages = changes.some(({ path }) => path === 'package.json') || !project.hasPackages;
  const installs = wantsPackages && options.install && options.dryRun !== true;
  if (changes.length === 0) {
    terminal.say(installs ? 'All files are there, and their packages are not.' : 'Nothing to do: all of it is there.');
  } else if (options.dryRun === true) terminal.say('It would write:');
  for (const change of changes) {
    if (options.dryRun !== true) carryOut(folder, change);
    terminal.say(`  ${change.path.padEnd(30)} ${change.what}`);
  }
  for (const path of left)
    terminal.say(`  ${path.padEnd(30)} is there and differs: left as it is (--force overwrites it)`);
  if (installs) await installPackages(folder, project.manager);
  const isInstalled = !wantsPackages || installs;
  for (const line of nextSteps(project, { isInstalled, isNew: changes.length > 0 || installs })) terminal.say(line);
}
