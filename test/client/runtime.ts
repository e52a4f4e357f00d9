import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Role } from '../../functions/lambda/role.ts';
import { adoptApp, launch, tokensIn } from '../local/project.ts';
import { test as withDatabase } from '../support/fixtures.ts';
import { type Relay, startRelay } from './relay.ts';

export { describe, expect } from '../support/fixtures.ts';

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
  await adoptApp(directory);
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
