import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROLES, type Role } from '../../functions/lambda/role.ts';
import { createToken, TOKENS_FILE } from '../../local/tokens-file.ts';
import { launch } from '../local/project.ts';
import { test as withDatabase } from '../support/fixtures.ts';
import { type Relay, startRelay } from './relay.ts';

export { describe, expect } from '../support/fixtures.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Runtime extends Relay {
  /** A token of each role. */
  readonly tokens: Readonly<Record<Role, string>>;
}

/**
 * The project itself under `npm start`, behind a relay: `api` with tokens switched on, `openApi` without. One for the file,
 * and so is `db`: its worker goes on from test to test, so nothing is emptied.
 */
export const test = withDatabase
  .extend('db', async ({ fileDatabase }) => fileDatabase.pool)
  .extend('api', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }) => {
    const { runtime, end } = await start({ DATABASE_URL: fileDatabase.url, MILLRACE_AUTH: 'on' });
    onCleanup(end);
    return runtime;
  })
  .extend('openApi', { scope: 'file' }, async ({ fileDatabase }, { onCleanup }) => {
    const { runtime, end } = await start({ DATABASE_URL: fileDatabase.url });
    onCleanup(end);
    return runtime;
  });

async function start(env: Record<string, string>): Promise<{ runtime: Runtime; end: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-client-'));
  const tokens = await tokensIn(directory);
  const { context } = JSON.parse(await readFile(join(root, 'cdk.json'), 'utf8'));
  await writeFile(join(directory, 'cdk.json'), JSON.stringify({ app: `node "${root}bin/app.ts"`, context }));
  const { ready, stop } = launch(directory, env);
  const end = async () => {
    await stop();
    await rm(directory, { recursive: true, force: true });
  };
  const relay = await ready.then(startRelay).catch(async (error) => {
    await end();
    throw error;
  });
  return {
    runtime: { ...relay, tokens },
    end: async () => {
      relay.close();
      await end();
    },
  };
}

async function tokensIn(directory: string): Promise<Record<Role, string>> {
  const file = join(directory, '.millrace', TOKENS_FILE);
  await mkdir(join(directory, '.millrace'));
  const made: [Role, string][] = [];
  for (const role of ROLES) made.push([role, (await createToken(file, { name: role, role, days: 1 })).token]);
  return Object.fromEntries(made) as Record<Role, string>;
}
