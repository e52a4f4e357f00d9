import type { Command } from 'commander';
import { withTarget } from './target-options.ts';

export function stats(program: Command): void {
  withTarget(program.command('stats'))
    .option('--watch', 'again each 2 seconds, until Ctrl-C')
    .option('--json', 'print JSON; with --watch a document a line')
    .addHelpText('after', HELP)
    .action(async (options) => (await import('./stats/command.ts')).stats(options));
}

const HELP = `
waits is the age of the oldest job that is due. Dead jobs are counted up to 1,000 of a kind, since retention keeps a month
of them. The counters behind are those of GET /metrics: since the queue was made.
It takes a token with the role reader or operator. What is paused, and what no worker takes, is said on stderr.

Examples:
  npx millrace stats
  npx millrace stats --watch
  npx millrace stats --json | jq '.kinds[] | select(.dead > 0)'`;
