import type { StoredToken } from '../../functions/lambda/tokens.ts';
import type { Change } from '../../local/token-changes.ts';
import { changeTokens, readTokens } from '../../local/tokens-file.ts';
import { CliError, EXIT } from '../cli-error.ts';

/** Where hashes of tokens are kept. */
export interface TokenStore {
  /** For sentences. */
  readonly place: string;
  read(): Promise<readonly StoredToken[]>;
  /** Of two people who change it at the same time neither undoes what the other did. */
  change(change: Change): Promise<void>;
}

export interface StoreOptions {
  readonly file: string;
  /** ARN or name of a secret in Secrets Manager, in place of the file. */
  readonly secret?: string;
  readonly region?: string;
}

export async function tokenStore({ file, secret, region }: StoreOptions): Promise<TokenStore> {
  if (secret !== undefined) return (await import('./secret-store.ts')).secretStore(secret, region);
  return {
    place: file,
    read: () => told(file, readTokens(file)),
    change: (change) => told(file, changeTokens(file, change)),
  };
}

/** What the system says of a file names another, the lock beside it, or none. */
async function told<T>(file: string, use: Promise<T>): Promise<T> {
  try {
    return await use;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new CliError(`--file ${file} cannot be used: ${message}`, EXIT.failed, { code, cause: error });
  }
}
