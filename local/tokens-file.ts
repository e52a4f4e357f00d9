import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Role } from '../functions/lambda/role.ts';
import { isExpired, type StoredToken, tokensOf } from '../functions/lambda/tokens.ts';
import { takeLock } from './lock-file.ts';

/** In `.millrace/`. */
export const TOKENS_FILE = 'tokens.json';

/**
 * Makes a token, keeps its hash, and resolves the token itself: nobody sees it a second time.
 * @throws Error in a sentence if there is one of that name, or the file cannot be used
 */
export async function createToken(
  file: string,
  { name, role, days }: { name: string; role: Role; days: number },
): Promise<{ token: string; expiresAt: string }> {
  const token = `mlr_${randomBytes(32).toString('base64url')}`;
  const expiresAt = new Date(Date.now() + days * 86_400_000).toISOString();
  await change(file, (tokens) => {
    const ofThatName = tokens.filter((other) => other.name.toLowerCase() === name.toLowerCase());
    if (ofThatName.some((other) => !isExpired(other))) {
      throw new Error(`There is a token "${name}" already: revoke it first, or take another name.`);
    }
    // One that has expired makes way.
    const others = tokens.filter((other) => !ofThatName.includes(other));
    const sha256 = createHash('sha256').update(token).digest('hex');
    return [...others, { name, role, sha256, expires_at: expiresAt }];
  });
  return { token, expiresAt };
}

/** @throws Error if there is no token of that name */
export async function revokeToken(file: string, name: string): Promise<void> {
  await change(file, (tokens) => {
    const others = tokens.filter((token) => token.name !== name);
    if (others.length === tokens.length) throw new Error(`There is no token "${name}" in ${file}.`);
    return others;
  });
}

/** A file that is not there holds none. @throws Error if it holds what is no token */
export async function readTokens(file: string): Promise<readonly StoredToken[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const { usable, unusable } = parse(file, text);
  if (unusable.length === 0) return usable;
  throw new Error(`${file} is to be mended by hand first, for ${unusable.join('; ')}.`);
}

function parse(file: string, text: string) {
  try {
    return tokensOf(text);
  } catch (error) {
    throw new Error(`${file} cannot be used: ${(error as Error).message}.`, { cause: error });
  }
}

/** One change at a time, and each replaces the file whole: who reads it never sees half of it. */
async function change(file: string, to: (tokens: readonly StoredToken[]) => readonly StoredToken[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const release = await takeLock(
    `${file}.lock`,
    (pid) => new Error(`Process ${pid} is changing ${file}: try again when it is done.`),
  );
  try {
    const tokens = to(await readTokens(file));
    await writeFile(`${file}.new`, `${JSON.stringify({ tokens }, null, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  } finally {
    await release();
  }
}
