import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { SCHEMA_VERSION } from '../../functions/lambda/schema-version.ts';
import type { LocalFunction } from '../../local/function.ts';
import { functionOf, synthesizedRelease } from '../deploy/stage.ts';
import { httpEvent } from '../functions/api.ts';
import { functionOf as functionFrom } from '../local/bundle.ts';
import { createDatabase } from '../support/database.ts';
import { describe, expect, inject, test as plain } from '../support/fixtures.ts';
import { type Emulated, emulated } from './emulated.ts';
import { type EmulatorTools, emulatorTools } from './tools.ts';

const built = await emulatorTools().catch((error: Error & { stderr?: string }) => {
  const reason = (error.stderr ?? error.message).trim().split('\n').at(-1);
  console.warn(
    `\nSKIPPED: nothing runs under AWS's runtime interface emulator, which cannot be built here: ${reason}\n`,
  );
  return undefined;
});

/** `start`: a function of the release under AWS's own emulator and runtime client, in place of the local runtime's sandbox. */
const test = plain
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('release', { scope: 'file' }, async ({}, { onCleanup }) => {
    const release = await synthesizedRelease();
    onCleanup(() => release.remove());
    return release;
  })
  .extend('start', async ({ release }) => {
    return async (name: string, databaseUrl: string, change = (fn: LocalFunction) => fn): Promise<Emulated> => {
      if (built === undefined) throw new Error('this test is skipped where the emulator is not');
      return emulated(built, change(await functionOf(release, name, databaseUrl)));
    };
  });

describe.skipIf(built === undefined)('under AWS’s runtime interface emulator and client', () => {
  test.beforeAll(({ release }) => void release, 120_000);

  test('a deploy migrates, and a job goes from HTTP to a worker and back', async ({ start }) => {
    const { url, drop } = await createDatabase(inject('serverUrl'));
    onTestFinished(drop);
    const migrate = await start('Migrate', url);
    expect(await returned(migrate, {})).toMatchObject({ version: SCHEMA_VERSION, ahead: false });
    expect(await returned(migrate, {})).toMatchObject({ applied: [] });

    expect(await returned(await start('Health', url), httpEvent('GET', '/health'))).toMatchObject({ statusCode: 200 });
    const body = { kind: 'hello.greet', payload: { name: 'Ada' } };
    const created = await returned(await start('Enqueue', url), httpEvent('POST', '/jobs', { body }));
    expect(created).toMatchObject({ statusCode: 201 });
    const { id } = JSON.parse(created.body);
    expect(await returned(await start('Work', url), { slot: 0 })).toMatchObject({ completed: 1 });
    const read = await returned(await start('JobsRead', url), httpEvent('GET', `/jobs/${id}?include=result`));
    expect(JSON.parse(read.body)).toMatchObject({ status: 'completed', result: { greeting: 'Hello, Ada!' } });
    expect(await returned(await start('Reap', url), {})).toMatchObject({ reaped: 0 });
  }, 120_000);

  test('a worker that lingers knows its deadline from the runtime, and ends before it', async ({
    start,
    databaseUrl,
  }) => {
    const work = await start('Work', databaseUrl, (fn) => ({
      ...fn,
      timeoutSeconds: 20,
      environment: { ...fn.environment, WORKER_PICKUP: 'second' },
    }));
    const began = performance.now();
    expect(await returned(work, { slot: 0 })).toMatchObject({ completed: 0 });
    expect((performance.now() - began) / 1000).toBeLessThan(20);
    expect(work.said()).not.toContain('timed out');
  }, 60_000);

  test('a request whose database does not answer is answered before the function’s end', async ({ start }) => {
    const ready = await start('Ready', await silence(), (fn) => ({ ...fn, timeoutSeconds: 2 }));
    const answer = await returned(ready, httpEvent('GET', '/ready'));
    expect(answer).toMatchObject({ statusCode: 503, headers: { 'retry-after': '2' } });
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'urn:millrace:problem:timeout' });
  });

  test('a function that goes on too long is ended, and the next call gets a new one', async ({ start }) => {
    const migrate = await start('Migrate', await silence(), (fn) => ({ ...fn, timeoutSeconds: 2 }));
    for (let call = 0; call < 2; call++) {
      expect((await migrate.invoke({})).text).toMatch(/Task timed out after 2\.00 seconds/);
    }
  });

  test('a function that throws fails its invocation by name, as the deploy shows it', async ({ start }) => {
    const migrate = await start('Migrate', 'postgres://nobody@127.0.0.1:1/none?host=', (fn) => ({
      ...fn,
      environment: { ...fn.environment, DATABASE_URL: 'nonsense' },
    }));
    const { text } = await migrate.invoke({});
    expect(JSON.parse(text)).toMatchObject({ errorType: 'ConfigurationError' });
  });

  test('what is too large for Lambda to return is refused by us, since the runtime would drop it', async ({
    start,
    db,
    databaseUrl,
  }) => {
    // Each quote is two characters in the payload, and four in an answer that is JSON within JSON.
    const { rows } = await db.query(
      `SELECT millrace.enqueue('hello.greet', jsonb_build_object('name', repeat('"', 2000000))) AS id`,
    );
    const event = httpEvent('GET', `/jobs/${rows[0].id}?include=payload`);
    const answer = await returned(await start('JobsRead', databaseUrl), event);
    expect(answer).toMatchObject({ statusCode: 413 });
    expect(JSON.parse(answer.body)).toMatchObject({ type: 'urn:millrace:problem:too-large' });

    const raw = await emulated(
      built as EmulatorTools,
      await functionFrom(`export const handler = async () => 'x'.repeat(6_291_557)`),
    );
    expect((await raw.invoke({})).text).toMatch(/Function.ResponseSizeTooLarge/);
  });
});

/** URL of a server that takes connections and says nothing. */
async function silence(): Promise<string> {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  return `postgres://nobody@127.0.0.1:${(silent.address() as AddressInfo).port}/none`;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at answers of every shape
async function returned({ invoke, said }: Emulated, event: unknown): Promise<any> {
  const { text } = await invoke(event);
  const answer = JSON.parse(text);
  if ('errorType' in answer) throw new Error(`${text}\n${said()}`);
  return answer;
}
