import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Block {
  /** First word of the info string. */
  readonly language: string;
  /** The rest of it: the file that the block shows, or the name by which its test finds it. */
  readonly name: string;
  readonly text: string;
}

/** The fenced blocks of a file in the repository, in order. */
export function blocksOf(path: string): Block[] {
  const text = readFileSync(join(root, path), 'utf8');
  return [...text.matchAll(/^```(\S*)(?: (.*))?\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', name = '', text = '']) => ({
      language,
      name,
      text,
    }),
  );
}

/** Whether the block shows a file, which then is what is tested. */
export function isFile({ name }: Block): boolean {
  return name.startsWith('examples/') || name.startsWith('cli/init/template/');
}

/** The one block of that name. */
export function blockNamed(blocks: readonly Block[], name: string): string {
  const found = blocks.filter((block) => block.name === name);
  if (found.length !== 1) throw new Error(`${found.length} blocks are named "${name}"`);
  return (found[0] as Block).text;
}
