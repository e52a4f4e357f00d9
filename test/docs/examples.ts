import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { blocksOf, isFile, root } from './blocks.ts';

/** Fails unless the page shows files as they are; resolves what its other blocks are called, in order. */
export async function otherBlocksOf(page: string): Promise<string[]> {
  const blocks = blocksOf(page);
  for (const { name, text } of blocks.filter(isFile)) {
    expect(text, `${page}: ${name}`).toBe(await readFile(join(root, name), 'utf8'));
  }
  return blocks.filter((block) => !isFile(block)).map(({ language, name }) => `${language} ${name}`.trim());
}
