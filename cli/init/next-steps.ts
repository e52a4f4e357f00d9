import type { Manager, Project } from './project.ts';

/** What runs a command of an installed package; npx refuses to in a project that names another manager. */
const RUN: Readonly<Record<Manager, string>> = { npm: 'npx', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx' };

/** What the person does now. */
export function nextSteps(
  project: Project,
  { isInstalled, isNew }: { isInstalled: boolean; isNew: boolean },
): string[] {
  const lines = project.hasCdkApp && !project.hasQueue ? linesToAdd(project) : [];
  if (!isNew && lines.length === 0) return [];
  const run = `${RUN[project.manager]} millrace`;
  return [
    ...lines,
    '',
    'Next:',
    ...(isInstalled ? [] : [`  ${project.manager} install`]),
    `  ${`${run} dev`.padEnd(28)}  the whole queue here, with your code reloaded; then in a second terminal:`,
    `  ${run} enqueue welcome.send '{"email":"ada@example.org"}' --wait`,
  ];
}

/** Another's stack is not touched. */
function linesToAdd({ stackFile }: Project): string[] {
  return [
    '',
    `Add to ${stackFile ?? 'the file of your stack'}:`,
    '',
    "  import { JobQueue } from 'millrace';",
    '',
    "  new JobQueue(this, 'Jobs', {",
    "    contracts: 'jobs/contracts.ts',",
    "    processors: 'jobs/processors.ts',",
    '  });',
    '',
    'With no more it makes a VPC and a database of its own; to use yours: node_modules/millrace/docs/construct.md',
  ];
}
