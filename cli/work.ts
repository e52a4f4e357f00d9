import { type Command, Option } from 'commander';
import { wholeNumber } from './whole-number.ts';

export function work(program: Command): void {
  program
    .command('work')
    .option('--contracts <file>', 'module that exports `contracts`', './jobs/contracts.ts')
    .option(
      '--processors <file>',
      'module that exports `processors`, and may export `middleware`',
      './jobs/processors.ts',
    )
    .option('--queues <names>', 'queues to serve, with commas between. Default: `default` and those of the contracts')
    .option('--concurrency <number>', 'jobs at once. Default 10', wholeNumber(1, 1000))
    .option('--transactions <number>', 'connections for ctx.transaction. Default 2', wholeNumber(0, 100))
    .option(
      '--drain-seconds <number>',
      'seconds from a signal to the end; the last 5 are for giving back',
      wholeNumber(5, 3600),
      10,
    )
    .option('--no-reap', 'leave it to others to take back jobs of dead workers, and to keep the tables small')
    .option('--health-port <port>', 'answer GET /health and GET /metrics there', wholeNumber(1, 65_535))
    .option('--health-host <address>', 'listen there for them', '127.0.0.1')
    .option('--health-file <path>', 'touch this file every 5 s, while all is well')
    .addOption(new Option('--run-seconds <number>').argParser(wholeNumber(1, 86_400)).default(900).hideHelp())
    .addOption(new Option('--tick-seconds <number>').argParser(wholeNumber(1, 3600)).default(60).hideHelp())
    .addOption(new Option('--fresh-seconds <number>').argParser(wholeNumber(1, 3600)).default(15).hideHelp())
    .addHelpText('after', HELP)
    .action(async (options) => {
      const { workCommand } = await import('./work/command.ts');
      await workCommand(options);
    });
}

const HELP = `
The database is that of DATABASE_URL (with DATABASE_CA_FILE for an authority of its own), or of the other variables of
docs/deploy.md. Modules in TypeScript are bundled by esbuild, which the project must have; others are imported as they are.

SIGTERM and SIGINT end it with 0: it takes no more jobs, waits for those that run, and gives back with their attempt those that
are not done in time. A second signal does not wait. A database that does not answer is tried again; only a wrong setting ends
it with 2. It logs JSON lines to stdout, by LOG_LEVEL; on a terminal lines for people.

Examples:
  DATABASE_URL=postgres://worker@db.example/app npx millrace work
  npx millrace work --contracts dist/contracts.js --processors dist/processors.js --health-port 8080
  npx millrace work --queues mail,default --concurrency 50 --no-reap`;
