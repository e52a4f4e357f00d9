import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { JobQueueProps } from '../job-queue-props.ts';

/** Absolute paths of the application's modules, and of the folder whose node_modules they import from. */
export interface Modules {
  readonly contracts: string;
  readonly processors: string;
  readonly projectRoot: string;
}

/** @throws Error that says which module is not there */
export function modulesOf({ contracts, processors, projectRoot = process.cwd() }: JobQueueProps): Modules {
  const root = resolve(projectRoot);
  if (!existsSync(root)) {
    throw new Error(`projectRoot must be a folder that exists, and there is no ${root}: give the one of your project.`);
  }
  const module = (prop: string, path: string) => {
    const absolute = resolve(root, path);
    if (existsSync(absolute)) return absolute;
    throw new Error(
      `${prop} must be the path of a module, from projectRoot (${root}) or absolute, and there is no ${absolute}: correct ${prop} or projectRoot.`,
    );
  };
  return {
    contracts: module('contracts', contracts),
    processors: module('processors', processors),
    projectRoot: root,
  };
}
