import { type Command, Option } from 'commander';
import { exactTimeArgument, nameArgument, secondsArgument, textArgument } from './arguments.ts';
import { withTarget } from './target-options.ts';
import { wholeNumber } from './whole-number.ts';

export function enqueue(program: Command): void {
  withTarget(program.command('enqueue'))
    .argument('<kind>', 'what sort of job', nameArgument)
    .argument('[payload]', 'JSON, or - to read it from stdin', '{}')
    .option('--subject <text>', 'your own id for what it is about', textArgument)
    .option('--delay <span>', 'how long from now it is due: 90s, 15m, 2h, 3d', secondsArgument)
    .addOption(
      new Option('--run-at <time>', 'when it is due: 2030-01-31T08:00:00Z')
        .argParser(exactTimeArgument)
        .conflicts('delay'),
    )
    .option('--priority <number>', '-5 to 5, higher first', wholeNumber(-5, 5))
    .option('--queue <name>', 'its lane', nameArgument)
    .option('--max-attempts <number>', 'how often it may be started', wholeNumber(1, 1000))
    .option('--idempotency-key <text>', 'the same key, kind and payload make one job', textArgument)
    .option('--unique-key <text>', 'while a job of this kind and key is pending, it stands for this one', textArgument)
    .option('--wait [span]', 'until it has ended, at most so long (5m), and print its result', secondsArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (kind: string, payload: string, options) =>
      (await import('./enqueue/command.ts')).enqueue(kind, payload, options),
    );
}

const HELP = `
The API checks the payload by the kind's contract, which also gives queue and attempts, and seals it if it has a codec. Over SQL
nothing is checked or sealed, since contracts are on the other side of the API: the payload is stored as it is, in the queue
default with 5 attempts unless you say otherwise.

With --wait the result is printed in place of the id; it exits with 1 if the job dies or is cancelled.

Examples:
  npx millrace enqueue hello.greet '{"name": "Ada"}'
  npx millrace enqueue hello.greet '{"name": "Ada"}' --wait 30s
  cat payload.json | npx millrace enqueue report.build - --subject report:7 --delay 15m`;
