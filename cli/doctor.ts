import type { Command } from 'commander';
import { nameArgument } from './arguments.ts';
import { wholeNumber } from './whole-number.ts';

/** Another value for an option that may be given more than once. */
const more = (name: string, before: readonly string[] = []) => [...before, nameArgument(name)];

export function doctor(program: Command): void {
  program
    .command('doctor')
    .option('--url <url>', 'where the API is; default MILLRACE_URL. Its token is MILLRACE_TOKEN')
    .option('--token-file <file>', 'holds the token, in place of MILLRACE_TOKEN')
    .option(
      '--database-url <url>',
      'also straight at Postgres; default DATABASE_URL, DATABASE_SECRET_ARN or DATABASE_USER',
    )
    .option(
      '--queue <name>',
      'queue to send a canary job through; may be given more than once (default: "default")',
      more,
    )
    .option('--canaries <number>', 'canary jobs for each queue, one after the other', wholeNumber(1, 100), 1)
    .option('--deadline <seconds>', 'that a canary may take; a worker has a tick a minute', wholeNumber(1, 3600), 90)
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Checks what it can by what it is given; with neither, what runs in this folder. It changes nothing, but for the canary
job, which does nothing. Exits 0 if all is well (warnings do not count), 1 if something is wrong, 4 if it does not answer
or does not let this caller in. What each check means: docs/doctor.md

Example:
  export MILLRACE_TOKEN="$(cat operator-token)"
  npx millrace doctor --url https://abc123.execute-api.eu-west-1.amazonaws.com --canaries 5`,
    )
    .action(async (options) => {
      const { doctor } = await import('./doctor/command.ts');
      process.exitCode = await doctor(options);
    });
}
