import { createHash, randomBytes } from 'node:crypto';
import type { Role } from '../functions/lambda/role.ts';
import { isExpired, type StoredToken, type Tokens, tokensOf } from '../functions/lambda/tokens.ts';

/** What a document of tokens becomes, wherever it is kept. */
export type Change = (tokens: readonly StoredToken[]) => readonly StoredToken[];

export interface NewToken {
  readonly name: string;
  readonly role: Role;
  readonly days: number;
}

/** Makes a token, and what is kept of it. Nobody sees the token itself a second time. */
export function mint({ name, role, days }: NewToken): { token: string; stored: StoredToken } {
  const token = `mlr_${randomBytes(32).toString('base64url')}`;
  const sha256 = createHash('sha256').update(token).digest('hex');
  return { token, stored: { name, role, sha256, expires_at: new Date(Date.now() + days * 86_400_000).toISOString() } };
}

/** One that has expired makes way for one of the same name. The change throws if there is one that has not. */
export function adding(stored: StoredToken): Change {
  return (tokens) => {
    // A change whose answer got lost may have gone through.
    if (tokens.some(({ sha256 }) => sha256 === stored.sha256)) return tokens;
    const ofThatName = tokens.filter(({ name }) => name.toLowerCase() === stored.name.toLowerCase());
    if (ofThatName.some((other) => !isExpired(other))) {
      throw new Error(`There is a token "${stored.name}" already: revoke it first, or take another name.`);
    }
    return [...tokens.filter((other) => !ofThatName.includes(other)), stored];
  };
}

/** The change throws if there is no token of that name. */
export function removing(name: string, place: string): Change {
  return (tokens) => {
    const others = tokens.filter((token) => token.name !== name);
    if (others.length === tokens.length) throw new Error(`There is no token "${name}" in ${place}.`);
    return others;
  };
}

/** What is kept at that place. @throws Error in a sentence if it holds what is no token: a change would lose it */
export function parseTokens(place: string, text: string): readonly StoredToken[] {
  const { usable, unusable } = parsed(place, text);
  if (unusable.length === 0) return usable;
  throw new Error(`${place} is to be mended by hand first, for ${unusable.join('; ')}.`);
}

export function textOfTokens(tokens: readonly StoredToken[]): string {
  return `${JSON.stringify({ tokens }, null, 2)}\n`;
}

function parsed(place: string, text: string): Tokens {
  try {
    return tokensOf(text);
  } catch (error) {
    throw new Error(`${place} cannot be used: ${(error as Error).message}.`, { cause: error });
  }
}
