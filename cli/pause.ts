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
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(async ({ queue: ofQueue, kind, json, ...target }: Options) => {
      const what = pausable(ofQueue, kind);
      const { withQueue } = await import('./queue.ts');
      const answer = await withQueue(target, (queue) => queue[verb](what));
      if (json) showJson(answer);
      else
        terminal.show(
          `${kind === undefined ? `queue ${ofQueue}` : `kind ${kind}`}\t${answer.paused ? 'paused' : 'resumed'}`,
        );
    });
}

function pausable(queue: string | undefined, kind: string | undefined): Target {
  if (queue !== undefined && kind === undefined) return { queue };
  if (kind !== undefined && queue === undefined) return { kind };
  throw new CliError('Give --queue or --kind, one of them.', EXIT.usage);
}

const PAUSE_HELP = `
It counts from the next claim on; jobs that run go on. Jobs can still be put in, and wait. Pausing twice does no harm.

Examples:
  npx millrace pause --kind invoice.send
  npx millrace pause --queue emails`;

const RESUME_HELP = `
What had become due meanwhile is started at once.

Examples:
  npx millrace resume --kind invoice.send
  npx millrace resume --queue emails`;
