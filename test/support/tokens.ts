import { adding, mint, type NewToken, removing } from '../../local/token-changes.ts';
import { changeTokens } from '../../local/tokens-file.ts';

/** Resolves a token whose hash is kept in that file, as `npx millrace token create` does. */
export async function createToken(file: string, wanted: NewToken): Promise<string> {
  const { token, stored } = mint(wanted);
  await changeTokens(file, adding(stored));
  return token;
}

export async function revokeToken(file: string, name: string): Promise<void> {
  await changeTokens(file, removing(name, file));
}
