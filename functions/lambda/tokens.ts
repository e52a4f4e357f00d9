import { createHash, timingSafeEqual } from 'node:crypto';
import { isRole, type Role } from './role.ts';

/** A token as it is kept: whoever reads this cannot call with it. */
export interface StoredToken {
  /** For people, logs and the operators' log. */
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the token, 64 hexadecimal digits. */
  readonly sha256: string;
  /** RFC 3339, in UTC. From then on it opens nothing. */
  readonly expires_at: string;
}

/** What a document of tokens holds: `unusable` says of each of the other entries why nobody gets in by it. */
export interface Tokens {
  readonly usable: readonly StoredToken[];
  readonly unusable: readonly string[];
}

/** 256 random bits; the prefix tells people and scanners of leaked secrets what it is. */
export const TOKEN = /^mlr_[A-Za-z0-9_-]{43}$/;
/** Begins with a letter or digit, so that it never looks like an option. */
export const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/+=@-]{0,99}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/**
 * Reads `{ "tokens": [{ name, role, sha256, expires_at }] }`, by hand: with zod the authorizer's bundle would have 96 KB
 * instead of 5, and a request waits for it on a cold start. An entry that is not wholly right opens nothing, and neither
 * do two that share a name or a hash: which of the two roles was meant, nobody can tell.
 * @throws SyntaxError or TypeError, without a word of what it holds, if it is not such a document at all
 */
export function tokensOf(text: string): Tokens {
  const entries = entriesOf(text);
  const flaws = entries.map(
    (entry) => flawOf(entry) ?? (isTwice(entry, entries) ? 'its name or sha256 is there twice' : undefined),
  );
  return {
    usable: entries.filter((_, at) => flaws[at] === undefined) as unknown as StoredToken[],
    unusable: flaws.flatMap((flaw, at) => (flaw === undefined ? [] : [`tokens[${at}]: ${flaw}`])),
  };
}

/** The entry that a token belongs to. Every hash is compared, in constant time: how long it takes tells nothing. */
export function findToken({ usable }: Tokens, token: string): StoredToken | undefined {
  const hash = createHash('sha256').update(token).digest();
  return usable.filter(({ sha256 }) => timingSafeEqual(Buffer.from(sha256, 'hex'), hash))[0];
}

export function isExpired({ expires_at }: StoredToken, now = Date.now()): boolean {
  return Date.parse(expires_at) <= now;
}

type Entry = Readonly<Record<string, unknown>>;

function entriesOf(text: string): Entry[] {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    // JSON.parse would quote what it could not read.
    throw new SyntaxError('the document of tokens is not JSON');
  }
  const { tokens } = isRecord(document) ? document : {};
  if (!Array.isArray(tokens)) throw new TypeError('the document of tokens must be {"tokens": […]}');
  return tokens.map((entry: unknown) => (isRecord(entry) ? entry : {}));
}

function flawOf({ name, role, sha256, expires_at }: Entry): string | undefined {
  if (typeof name !== 'string' || !TOKEN_NAME.test(name)) return `name must match ${TOKEN_NAME.source}`;
  if (!isRole(role)) return 'role must be producer, reader or operator';
  if (typeof sha256 !== 'string' || !SHA256.test(sha256)) return 'sha256 must be 64 hexadecimal digits in lower case';
  if (typeof expires_at !== 'string' || !UTC.test(expires_at) || Number.isNaN(Date.parse(expires_at))) {
    return 'expires_at must be a time such as 2030-01-31T12:00:00Z';
  }
  return undefined;
}

/** Looks at entries that are unusable, too: a second one that is spoilt does not make the first one right. */
function isTwice(entry: Entry, entries: readonly Entry[]): boolean {
  const same = (field: 'name' | 'sha256') => (other: Entry) =>
    other !== entry && typeof other[field] === 'string' && lower(other[field]) === lower(entry[field]);
  const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : undefined);
  return entries.some(same('name')) || entries.some(same('sha256'));
}

function isRecord(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null;
}
