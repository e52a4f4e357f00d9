import type { Command } from 'commander';
import type { Target } from '../client/pause.ts';
import { nameArgument } from './arguments.ts';
import { CliError, EXIT } from './cli-error.ts';
import { showJson } from './json.ts';
import { type TargetOptions, withTarget } from './target-options.ts';
import { terminal } from './terminal.ts';

interface Options extends TargetOptions {
  readonly queue?: string;
  readonly kind?: string;
  readonly schedule?: string;
  readonly json?: boolean;
}

export function pause(program: Command): void {
  define(program, 'pause', PAUSE_HELP);
}

export function resume(program: Command): void {
  define(program, 'resume', RESUME_HELP);
}

function define(program: Command, verb: 'pause' | 'resume', help: string): void {
  withTarget(program.command(verb), { acts: true })
    .option('--queue <name>', 'all of its kinds', nameArgument)
    .option('--kind <name>', 'in every queue', nameArgument)
    .option('--schedule <name>', 'its fire times', nameArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async ({ queue: ofQueue, kind, schedule, json, ...target }: Options) => {
      const what = pausable({ queue: ofQueue, kind, schedule });
      const { withQueue } = await import('./queue.ts');
      const answer = await withQueue(target, (queue) => queue[verb](what));
      if (json) return showJson(answer);
      const [[scope, name] = []] = Object.entries(what);
      terminal.show(`${scope} ${name}\t${answer.paused ? 'paused' : 'resumed'}`);
    });
}

/** The one that is given. */
function pausable(options: Readonly<Record<'queue' | 'kind' | 'schedule', string | undefined>>): Target {
  const given = Object.entries(options).filter(([, name]) => name !== undefined);
  if (given.length === 1) return Object.fromEntries(given) as unknown as Target;
  throw new CliError('Give --queue, --kind or --schedule, one of them.', EXIT.usage);
}

const PAUSE_HELP = `
Of a queue or a kind it counts from the next claim on; jobs that run go on. Jobs can still be put in, and wait. Of a schedule the
fire times pass without a job, and are not made up for. Pausing twice does no harm.

Examples:
  npx millrace pause --kind invoice.send
  npx millrace pause --queue emails
  npx millrace pause --schedule report.nightly`;

const RESUME_HELP = `
What had become due meanwhile is started at once. A schedule goes on with its next fire time.

Examples:
  npx millrace resume --kind invoice.send
  npx millrace resume --queue emails
  npx millrace resume --schedule report.nightly`;
