import { type Command, Option } from 'commander';
import { STATUSES } from '../functions/queue/job.ts';
import { nameArgument, textArgument, timeArgument } from './arguments.ts';
import { withTarget } from './target-options.ts';
import { wholeNumber } from './whole-number.ts';

export function list(program: Command): void {
  withTarget(program.command('list'))
    .addOption(new Option('--status <status>', 'in this state').choices(STATUSES))
    .option('--kind <name>', 'of this kind', nameArgument)
    .option('--subject <text>', 'about this', textArgument)
    .option('--created-after <time>', 'then or later: 2h (ago), 2030-01-31, 2030-01-31T08:00:00Z', timeArgument)
    .option('--created-before <time>', 'before that, likewise', timeArgument)
    .option('--limit <number>', 'at most so many', wholeNumber(1, 1_000_000), 50)
    .addOption(new Option('--all', 'all of them, page by page').conflicts('limit'))
    .addOption(new Option('--counts', 'how many there are by status, up to 1,000 of each').conflicts(['limit', 'all']))
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options) => (await import('./list/command.ts')).list(options));
}

const HELP = `
All filters combine. Piped, each job is a line with tabs between: id, status, kind, subject, attempts, created, note.

Examples:
  npx millrace list --status dead
  npx millrace list --kind hello.greet --created-after 2h --all
  npx millrace list --status dead --counts
  npx millrace list --status dead --json | jq -r '.jobs[].last_error.message' | sort | uniq -c`;
