import type { Command } from 'commander';
import { givenArgument } from './arguments.ts';
import { wholeNumber } from './whole-number.ts';

export function migrate(program: Command): void {
  program
    .command('migrate')
    .option('--status', 'say what is applied and what is not, and change nothing')
    .option('--print', 'print the SQL of what is pending as a file for psql, and change nothing')
    .option('--to <version>', 'only up to this migration', wholeNumber(1, 9999))
    .option(
      '--database-url <url>',
      'straight to Postgres; default DATABASE_URL, DATABASE_SECRET_ARN or DATABASE_USER',
      givenArgument,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (options) => {
      const { migrateCommand } = await import('./migrate/command.ts');
      await migrateCommand(options);
    });
}

const HELP = `
The login must own the schema millrace, or may create it. Everything pending is applied in one transaction: all of it or
nothing. Migrations move forward only, and older code works on a newer schema. Without a database, --print prints all of them.

--status ends with 1 if something is pending, or was changed after it was applied.

Examples:
  DATABASE_URL=postgres://owner@db.example/app npx millrace migrate
  npx millrace migrate --status
  npx millrace migrate --print > millrace.sql && psql "$DATABASE_URL" -v ON_ERROR_STOP=1 -f millrace.sql`;
