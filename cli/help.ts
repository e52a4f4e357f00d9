import { Command, Help } from 'commander';
import { TARGET_HEADING } from './target-options.ts';

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
