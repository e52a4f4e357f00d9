import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoredToken } from '../functions/lambda/tokens.ts';
import { takeLock } from './lock-file.ts';
import { type Change, parseTokens, textOfTokens } from './token-changes.ts';

/** In `.millrace/`. */
export const TOKENS_FILE = 'tokens.json';

/** A file that is not there holds none. @throws Error if it holds what is no token */
export async function readTokens(file: string): Promise<readonly StoredToken[]> {
  try {
    return parseTokens(file, await readFile(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** One change at a time, and each replaces the file whole: who reads it never sees half of it. */
export async function changeTokens(file: string, change: Change): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const release = await takeLock(
    `${file}.lock`,
    (pid) => new Error(`Process ${pid} is changing ${file}: try again when it is done.`),
  );
  try {
    const tokens = change(await readTokens(file));
    await writeFile(`${file}.new`, textOfTokens(tokens), { mode: 0o600 });
    await rename(`${file}.new`, file);
  } finally {
    await release();
  }
}
