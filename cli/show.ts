import type { Command } from 'commander';
import { idArgument } from './arguments.ts';
import { withTarget } from './target-options.ts';

export function show(program: Command): void {
  withTarget(program.command('show'))
    .argument('<id>', 'of the job', idArgument)
    .option('--payload', 'what it was put in with')
    .option('--result', 'what it came to')
    .option('--stack', 'where each error was thrown')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (id: string, options) => (await import('./show/command.ts')).show(id, options));
}

const HELP = `
Payload and result take a token with the role reader or operator. Those of a kind with a codec are sealed where they are
stored: the API opens them for such a token, over SQL they are shown as sealed.

Examples:
  npx millrace show 0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11
  npx millrace show 0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11 --payload --stack
  npx millrace show 0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c11 --json | jq .errors`;
