import type { Role } from '../../functions/lambda/role.ts';
import { isExpired, type StoredToken } from '../../functions/lambda/tokens.ts';
import { adding, mint, removing } from '../../local/token-changes.ts';
import { showJson } from '../json.ts';
import { type Column, showTable } from '../table.ts';
import { terminal } from '../terminal.ts';
import { type StoreOptions, tokenStore } from './store.ts';

interface Options extends StoreOptions {
  readonly json?: boolean;
}

/** The token goes to stdout alone: `TOKEN=$(npx millrace token create …)` takes it as it is. */
export async function create({
  name,
  role,
  days,
  json,
  ...where
}: Options & { name: string; role: Role; days: number }): Promise<void> {
  const { token, stored } = mint({ name, role, days });
  const store = await tokenStore(where);
  await store.change(adding(stored));
  if (json) {
    showJson({ name, role, expires_at: stored.expires_at, token });
    return;
  }
  terminal.say(
    `"${name}" may call as ${role} until ${stored.expires_at}, by ${store.place}. This is its token; it is not kept and not shown again:`,
  );
  terminal.show(token);
}

export async function list({ json, ...where }: Options): Promise<void> {
  const store = await tokenStore(where);
  const tokens = (await store.read()).map((token) => ({ ...shown(token), expired: isExpired(token) }));
  if (json) showJson(tokens);
  else if (tokens.length === 0) terminal.say(`There are no tokens in ${store.place}.`);
  else showTable(COLUMNS, tokens);
}

export async function revoke({ name, json, ...where }: Options & { readonly name: string }): Promise<void> {
  const store = await tokenStore(where);
  await store.change(removing(name, store.place));
  if (json) showJson({ name, revoked: true });
  else terminal.say(`"${name}" is revoked.`);
}

/** Hashes are nobody's business. */
function shown({ name, role, expires_at }: StoredToken) {
  return { name, role, expires_at };
}

const COLUMNS: readonly Column<ReturnType<typeof shown> & { readonly expired: boolean }>[] = [
  { title: 'name', of: ({ name }) => name, cuts: true },
  { title: 'role', of: ({ role }) => role },
  { title: 'until', of: ({ expires_at }) => expires_at },
  { title: '', of: ({ expired }) => (expired ? 'expired' : ''), paint: (text) => terminal.paint.red(text) },
];
