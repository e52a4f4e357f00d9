import type { Command } from 'commander';
import { withTarget } from './target-options.ts';

export function schedules(program: Command): void {
  withTarget(program.command('schedules'))
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options) => (await import('./schedules/command.ts')).schedules(options));
}

const HELP = `
Schedules are declared in code, beside the contracts; a worker says which there are when a run begins. Piped, each is a line with
tabs between: name, times, zone, kind, next fire time, last one, what became of it, the job, and "paused" if it is.
It takes a token with the role reader or operator.

Examples:
  npx millrace schedules
  npx millrace schedules --json | jq -r '.schedules[] | select(.paused) | .name'`;
