import { Command, Help } from 'commander';
import { TARGET_HEADING } from './target-options.ts';

/** Headings of the help, with the commands under each. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Begin:': ['init', 'dev', 'work'],
  'Put in and look:': ['enqueue', 'list', 'show', 'tail', 'stats'],
  'Intervene:': ['cancel', 'redrive', 'pause', 'resume', 'erase'],
  'Run it:': ['token', 'migrate', 'doctor'],
};

/** Sorts the commands of the help under headings. */
export function grouped(root: Command): Command {
  for (const [heading, names] of Object.entries(GROUPS)) {
    for (const command of root.commands) if (names.includes(command.name())) command.helpGroup(heading);
  }
  return root;
}

export function helpCommand(): Command {
  return new Command('help')
    .description('explain a command, as its --help does')
    .argument('[command]')
    .helpOption(false)
    .helpGroup('Run it:');
}

/** What a command is about comes first in its help, and last the options that all have: which queue. */
export const HELP: Partial<Help> = {
  groupItems<Item extends Command | import('commander').Option>(
    all: Item[],
    visible: Item[],
    groupOf: (item: Item) => string,
  ): Map<string, Item[]> {
    const groups = Help.prototype.groupItems.call(
      this,
      all as never,
      visible as never,
      groupOf as never,
    ) as never as Map<string, Item[]>;
    const target = groups.get(TARGET_HEADING);
    if (target !== undefined) {
      groups.delete(TARGET_HEADING);
      groups.set(TARGET_HEADING, target);
    }
    return groups;
  },
};
