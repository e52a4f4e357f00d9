import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { build, writeFiles } from '../../lib/bundles/build.ts';
import { SDK, sdkFiles } from '../../lib/bundles/sdk.ts';
import { startProcess } from '../../local/sandbox-process.ts';
import { functionOf, temporaryDirectory } from '../local/bundle.ts';
import { pendingJob, rowOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { startSecretsManager } from '../support/secrets-manager.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const CONTRACTS = `
import * as z from 'zod';
import { defineJob } from '${root}functions/queue/index.ts';
export const contracts = { 'bill.pay': defineJob({ payload: z.object({}), queue: 'bills' }), 'note.write': defineJob({ payload: z.object({}) }) };`;

/** Modules that read their settings as most do: at the top. */
const SETTINGS = `export const key = process.env.STRIPE_KEY;`;
const PROCESSORS = `
import { key } from './settings.mjs';
const waited = await Promise.resolve(process.env.STRIPE_KEY);
export const processors = { 'bill.pay': async () => ({ key, waited }), 'note.write': async () => ({}) };`;

interface Over {
  readonly processors?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** The worker's bundle as the stack makes it, of these modules; resolves how an invocation of it ends, and what it writes. */
async function invoked(databaseUrl: string, { processors = PROCESSORS, environment = {} }: Over = {}) {
  const sources = await temporaryDirectory();
  const encoded = Object.entries({ 'contracts.ts': CONTRACTS, 'settings.mjs': SETTINGS, 'processors.mjs': processors });
  writeFiles(sources, new Map(encoded.map(([name, source]) => [name, new TextEncoder().encode(source)])));
  const fn = await functionOf('', { timeoutSeconds: 60, memoryMegabytes: 256 });
  const files = build({
    entryPoints: { index: join(root, 'functions/work/handler.ts') },
    alias: { '#contracts': join(sources, 'contracts.ts'), '#processors': join(sources, 'processors.mjs') },
    external: ['pg-native', SDK],
    nodePaths: [join(root, 'node_modules')],
  });
  expect([...files.keys()], 'a single file').toEqual(['index.mjs']);
  writeFiles(fn.directory, files);
  writeFiles(fn.directory, sdkFiles(['secrets-manager']));
  const settings = { DATABASE_URL: databaseUrl, WORKER_PICKUP: 'minute', LOG_LEVEL: 'info', ...environment };
  const lines: string[] = [];
  const { ended, kill } = startProcess(
    { ...fn, environment: { ...fn.environment, ...settings } },
    { slot: 0 },
    (_, line) => lines.push(line),
  );
  onTestFinished(() => kill());
  return { ending: await ended, lines };
}

/** What a worker needs to find the value of STRIPE_KEY in a secret. */
async function secretOf(value: string): Promise<Record<string, string>> {
  const manager = await startSecretsManager();
  onTestFinished(() => manager.close());
  return { ...manager.environment, WORKER_SECRETS: JSON.stringify({ STRIPE_KEY: manager.create(value) }) };
}

describe('the bundle of a worker', () => {
  test('evaluates the processors once their secrets are in process.env', async ({ db, databaseUrl }) => {
    const { id } = await pendingJob(db, { kind: 'bill.pay', queue: 'bills', payload: {} });
    const { ending } = await invoked(databaseUrl, { environment: await secretOf('sk_live_1') });
    expect(ending).toMatchObject({ kind: 'returned', json: expect.stringContaining('"completed":1') });
    expect(await rowOf(db, id)).toMatchObject({
      status: 'completed',
      result: { key: 'sk_live_1', waited: 'sk_live_1' },
    });
  });

  test.for([
    ['while its sandbox starts', undefined, ['evaluated', 'tick']],
    ['with secrets: in its first run', 'sk_live_1', ['tick', 'evaluated']],
  ] as const)('evaluates the processors %s', async ([, secret, order], { databaseUrl }) => {
    const environment = secret === undefined ? {} : await secretOf(secret);
    const processors = `console.log('evaluated'); ${PROCESSORS}`;
    const { ending, lines } = await invoked(databaseUrl, { processors, environment });
    expect(ending).toMatchObject({ kind: 'returned' });
    const said = lines.map((line) => (line.includes('"TicksStarted"') ? 'tick' : line));
    expect(said.filter((line) => line === 'tick' || line === 'evaluated')).toEqual(order);
  });

  test('whose processors cannot be loaded says why, claims nothing, and ends its sandbox', async ({
    db,
    databaseUrl,
  }) => {
    const { id } = await pendingJob(db, { kind: 'note.write', payload: {} });
    const processors = `throw new TypeError('no such region'); export const processors = {};`;
    const { ending, lines } = await invoked(databaseUrl, { processors });
    expect(ending).toEqual({ kind: 'died', how: 'exit code 1' });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'metrics', TicksStarted: 1 },
      {
        level: 'error',
        message: 'the contracts or processors of the queue cannot be loaded',
        error: { name: 'TypeError', message: 'no such region' },
      },
    ]);
    expect(await rowOf(db, id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('serves the queues that it is told, and leaves the others', async ({ db, databaseUrl }) => {
    const bill = await pendingJob(db, { kind: 'bill.pay', queue: 'bills', payload: {} });
    const note = await pendingJob(db, { kind: 'note.write', payload: {} });
    await invoked(databaseUrl, { environment: { WORKER_QUEUES: 'bills, nightly' } });
    expect(await rowOf(db, bill.id)).toMatchObject({ status: 'completed' });
    expect(await rowOf(db, note.id)).toMatchObject({ status: 'pending' });
    await invoked(databaseUrl, { environment: { WORKER_QUEUES: '' } });
    expect(await rowOf(db, note.id)).toMatchObject({ status: 'completed' });
  });
});
