import { readFile } from 'node:fs/promises';
import { readSecretText } from '../lambda/secret-text.ts';
import { type Tokens, tokensOf } from '../lambda/tokens.ts';

/**
 * Milliseconds for which the tokens of a secret are believed. The gateway believes an answer for another 30 s (lib/api/auth.ts): a
 * revoked token is out after 55 s at most, and 60 s are promised.
 */
export const KEPT_MS = 25_000;

export type ReadTokens = () => Promise<Tokens>;

/** Where the tokens are. @throws Error if no setting says so */
export function tokenSource(env: NodeJS.ProcessEnv): ReadTokens {
  const { TOKENS_SECRET_ARN, TOKENS_FILE } = env;
  if (TOKENS_SECRET_ARN) return kept(async () => tokensOf((await readSecretText(TOKENS_SECRET_ARN)) ?? ''), KEPT_MS);
  // A file is read each time: whoever has made a token on this machine wants to use it now.
  if (TOKENS_FILE) return async () => tokensOf(await textOf(TOKENS_FILE));
  throw new Error('set TOKENS_SECRET_ARN or TOKENS_FILE: without them there is no token to compare with');
}

/** A file that nobody has made yet holds no tokens. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '{"tokens":[]}';
    throw error;
  }
}

/**
 * Keeps what was read, for that long from when reading it began, and reads once for all who ask meanwhile. What could not be
 * read is not kept, and neither is what was known before: who cannot see the tokens lets nobody in.
 */
export function kept(read: ReadTokens, ms: number): ReadTokens {
  let known: { readonly tokens: Promise<Tokens>; readonly since: number } | undefined;
  return () => {
    // The wall clock: others may stand still while a sandbox is frozen. One that was put back makes everything old.
    const age = known === undefined ? Number.POSITIVE_INFINITY : Date.now() - known.since;
    if (known !== undefined && age >= 0 && age < ms) return known.tokens;
    const reading = { tokens: read(), since: Date.now() };
    known = reading;
    reading.tokens.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading.tokens;
  };
}
