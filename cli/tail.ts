import { type Command, Option } from 'commander';
import { STATUSES } from '../functions/queue/job.ts';
import { nameArgument, secondsArgument } from './arguments.ts';
import { withTarget } from './target-options.ts';
import { wholeNumber } from './whole-number.ts';

export function tail(program: Command): void {
  withTarget(program.command('tail'))
    .addOption(new Option('--status <status>', 'changes to this state only').choices(STATUSES))
    .option('--kind <name>', 'of this kind', nameArgument)
    .option('--last <number>', 'begin with so many that are there already', wholeNumber(0, 200), 10)
    .option('--every <span>', 'from one look to the next', secondsArgument, 1)
    .option('--json', 'print a job a line, as JSON')
    .addHelpText('after', HELP)
    .action(async (options) => (await import('./tail/command.ts')).tail(options));
}

const HELP = `
It looks each second at the newest jobs, at those that run and at those that died, 200 of each. A job that begins and ends
between two looks is told of by its end alone, and one that was neither among the newest nor seen running may be missed:
counts are what \`millrace stats\` tells.

Examples:
  npx millrace tail
  npx millrace tail --kind hello.greet --status dead --json`;
