import { parseArgs } from 'node:util';
import { isRole, ROLES, type Role } from '../functions/lambda/role.ts';
import { isExpired, TOKEN_NAME } from '../functions/lambda/tokens.ts';
import { createToken, readTokens, revokeToken, TOKENS_FILE } from './tokens-file.ts';

/** Where the local runtime looks for them. */
const FILE = `.millrace/${TOKENS_FILE}`;

const USAGE = [
  `npm run token -- create --name ci --role ${ROLES.join('|')} [--days 90] [--file ${FILE}]`,
  'npm run token -- list [--file …]',
  'npm run token -- revoke --name ci [--file …]',
].join('\n       ');
const MAX_DAYS = 3650;

export interface Terminal {
  /** What was asked for, alone: `TOKEN=$(npm run -s token -- create …)` takes it as it is. */
  readonly show: (line: string) => void;
  /** Words about it. */
  readonly say: (line: string) => void;
}

/** Carries out the words of a command line. @throws Error whose message says what is wrong, for the person at the terminal */
export async function tokenCommand(args: string[], { show, say }: Terminal): Promise<void> {
  const { command, name, role, days, file } = readArguments(args);
  switch (command) {
    case 'create': {
      const { token, expiresAt } = await createToken(file, {
        name: known(name),
        role: roleOf(role),
        days: whole(days),
      });
      say(`"${name}" may call as ${role} until ${expiresAt}. This is its token; it is not kept and not shown again:`);
      show(token);
      return;
    }
    case 'list': {
      const tokens = await readTokens(file);
      if (tokens.length === 0) say(`There are no tokens in ${file}.`);
      for (const token of tokens) {
        show([token.name, token.role, token.expires_at, isExpired(token) ? 'expired' : ''].join('\t').trimEnd());
      }
      return;
    }
    case 'revoke':
      await revokeToken(file, known(name));
      say(`"${name}" is revoked.`);
      return;
    default:
      throw usage(command === undefined ? 'say what to do: create, list or revoke' : `there is no "${command}"`);
  }
}

function readArguments(args: string[]) {
  const options = {
    name: { type: 'string' },
    role: { type: 'string' },
    days: { type: 'string', default: '90' },
    file: { type: 'string', default: FILE },
  } as const;
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    if (positionals.length > 1) throw new Error(`"${positionals[1]}" is one word too many`);
    return { name: undefined, role: undefined, ...values, command: positionals[0] };
  } catch (error) {
    throw usage((error as Error).message);
  }
}

function known(name: string | undefined): string {
  if (name !== undefined && TOKEN_NAME.test(name)) return name;
  throw misused('--name', 'up to 100 of letters, digits and . _ : / + = @ -', name);
}

function roleOf(role: string | undefined): Role {
  if (isRole(role)) return role;
  throw misused('--role', ROLES.join(', '), role);
}

function whole(days: string): number {
  if (/^\d{1,4}$/.test(days) && Number(days) >= 1 && Number(days) <= MAX_DAYS) return Number(days);
  throw misused('--days', `a whole number from 1 to ${MAX_DAYS}`, days);
}

function misused(option: string, takes: string, came: string | undefined): Error {
  if (came === undefined) return usage(`${option} is missing; it takes ${takes}`);
  return usage(`${option} takes ${takes}, not ${JSON.stringify(came)}`);
}

function usage(problem: string): Error {
  return new Error(`${problem}\nusage: ${USAGE}`);
}
