import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { CliError, EXIT } from './cli-error.ts';
import { COMMANDS } from './commands.ts';
import { HELP, helpCommand } from './help.ts';
import { missingPeer } from './missing-peer.ts';
import { terminal } from './terminal.ts';
import { visibleLines } from './visible.ts';

/** Carries out a command line. Resolves the code to exit with; what went wrong has been said. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    const root = await program((name) => args.includes(name));
    await root.parseAsync(untilUnknown(args, root), { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (error) {
    // Commander has said it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const said = missingPeer(error) ?? (error instanceof Error ? error : new Error(String(error)));
    const { message, stack } = said;
    terminal.say(visibleLines(process.env.LOG_LEVEL === 'debug' ? (stack ?? message) : message).join('\n'));
    return said instanceof CliError ? said.exitCode : EXIT.failed;
  }
}

/** The whole command line. Of a command that is not `named` the help alone knows. */
export async function program(named: (name: string) => boolean = () => true): Promise<Command> {
  const root = new Command('millrace')
    .description('Background jobs on the Postgres you already run.')
    .version(version(), '--version', 'print the version')
    .helpOption('-h, --help', 'explain a command, with examples')
    .addHelpCommand(helpCommand())
    .configureHelp(HELP)
    .configureOutput({ outputError: (text, write) => write(harmless(text)) })
    .exitOverride()
    .showHelpAfterError('(--help shows what it takes)')
    .addHelpText('after', '\nExample: npx millrace list --status dead\nGuide: docs/cli.md');
  for (const [heading, entries] of Object.entries(COMMANDS)) {
    for (const { name, summary, define } of entries) {
      if (named(name)) await define(root);
      else root.command(name);
      root.commands.at(-1)?.description(summary).helpGroup(heading);
    }
  }
  return root;
}

/** What Commander says of a command line, without what stands behind a misspelt option: it may be a URL with a password. */
function harmless(text: string): string {
  const withoutValue = text.replace(/^(error: unknown option '[^=']*=).*'(?=\n)/s, "$1…'");
  return visibleLines(withoutValue).join('\n');
}

/** Up to a word that is no command: asked for the help of it, Commander would show the whole without a word, as a success. */
function untilUnknown(args: readonly string[], command: Command): readonly string[] {
  const [first, ...rest] = args;
  if (first === undefined || first.startsWith('-') || command.commands.length === 0) return args;
  if (first === 'help' && command.parent === null) {
    const [name] = rest;
    return name === undefined || command.commands.some((one) => one.name() === name) ? args : [name];
  }
  const inner = command.commands.find((one) => one.name() === first);
  return inner === undefined ? [first] : [first, ...untilUnknown(rest, inner)];
}

/** Of the package, which lies above this folder, compiled or not. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}
