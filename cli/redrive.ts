import type { Command } from 'commander';
import { nameArgument, textArgument, timeArgument } from './arguments.ts';
import { jobIds } from './job-ids.ts';
import type { RedriveOptions } from './redrive/options.ts';
import { withTarget } from './target-options.ts';
import { wholeNumber } from './whole-number.ts';

export function redrive(program: Command): void {
  withTarget(program.command('redrive'), { acts: true })
    .argument('[id...]', 'of the jobs; or filters in their place', jobIds)
    .option('--kind <name>', 'dead jobs of this kind', nameArgument)
    .option('--error <text>', 'whose last error has this in its name or message', textArgument)
    .option('--dead-after <time>', 'dead since then', timeArgument)
    .option('--dead-before <time>', 'dead before then', timeArgument)
    .option('--all', 'all that are dead')
    .option('--limit <number>', 'at most so many', wholeNumber(1, 999_999_999))
    .option('--after <cursor>', 'go on where an interrupted command has stopped')
    .option('--dry-run', 'only count them')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (ids: readonly string[], options: RedriveOptions) => {
      const { redriveCommand } = await import('./redrive/command.ts');
      await redriveCommand(ids, options);
    });
}

const HELP = `
Filters narrow one another. By filter it goes from the oldest to the newest, a few hundred at a time; no job is redriven twice,
also not one that dies again meanwhile. Ctrl-C stops it after the step that runs, and prints the command that goes on.

A job stays dead ("skipped") while one of the same unique key is pending, or an open transaction holds it.

Examples:
  npx millrace redrive --kind invoice.send --error TypeError --dry-run
  npx millrace redrive --kind invoice.send --error TypeError --dead-after 2h
  npx millrace redrive 0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11`;
