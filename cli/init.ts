import type { Command } from 'commander';

export function init(program: Command): void {
  program
    .command('init')
    .option('--dry-run', 'say what it would do, and do nothing')
    .option('--no-install', 'write files only')
    .option('--force', 'overwrite files that are there and differ')
    .option('--package <spec>', 'the millrace to install: a version or file:… Default: the one that this command is of')
    .addHelpText('after', HELP)
    .action(async (options) => {
      const { initCommand } = await import('./init/command.ts');
      await initCommand(process.cwd(), options);
    });
}

const HELP = `
In an empty folder it makes a project; in one that is there it adds what is missing, and leaves every file that exists as it is.
It does not touch the stack of a CDK app: it prints the lines to add. Run again, it has nothing to do.

Examples:
  npx millrace init
  npx -p ../millrace-0.1.0.tgz millrace init
  npx millrace init --dry-run`;
