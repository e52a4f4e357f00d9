import type { Command } from 'commander';
import { nameArgument } from './arguments.ts';
import { showJson, wire } from './json.ts';
import { type TargetOptions, withTarget } from './target-options.ts';
import { terminal } from './terminal.ts';

export function fire(program: Command): void {
  withTarget(program.command('fire'), { acts: true })
    .argument('<schedule>', 'its name', nameArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (name: string, { json, ...target }: TargetOptions & { json?: boolean }) => {
      const { withQueue } = await import('./queue.ts');
      const job = await withQueue(target, (queue) => queue.fire(name));
      if (json) showJson(wire(job));
      else terminal.show(job.id);
    });
}

const HELP = `
The job is of the kind and payload that the worker last declared. The schedule may be paused; its fire times stay as they are.
While another of its jobs is pending or runs it is refused, with exit code 3, unless the schedule lets them overlap.

Examples:
  npx millrace fire report.nightly
  npx millrace show "$(npx millrace fire report.nightly)"`;
