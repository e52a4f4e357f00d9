import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { build, writeFiles } from '../../lib/bundles/build.ts';
import { temporaryDirectory } from '../local/bundle.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Calls the handler of a module as Lambda would, in a process without any environment, and says what it answered and which
 * sockets and names it asked the system for, from its first line on.
 */
const PROBE = `
  import { createHook } from 'node:async_hooks';
  const asked = [];
  createHook({ init: (_, type) => void (/TCP|UDP|TLS|ADDRINFO|QUERYWRAP/.test(type) && asked.push(type)) }).enable();
  const { handler } = await import('./index.mjs');
  const event = { version: '2.0', routeKey: 'GET /health', rawPath: '/health', headers: {}, requestContext: { requestId: 'r', http: { method: 'GET' } } };
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = () => true;
  const answer = await handler(event, { getRemainingTimeInMillis: () => 5000 });
  await new Promise((resolve) => setTimeout(resolve, 100));
  write(JSON.stringify({ answer, asked, environment: Object.keys(process.env) }));
`;

async function probe(entry: { in: string } | { contents: string }) {
  const directory = await temporaryDirectory();
  writeFiles(
    directory,
    build(
      'in' in entry
        ? { entryPoints: [{ ...entry, out: 'index' }] }
        : { stdin: { ...entry, resolveDir: root, sourcefile: 'index.ts' }, entryNames: 'index' },
    ),
  );
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', PROBE], {
    cwd: directory,
    extendEnv: false,
    env: {},
  });
  return JSON.parse(stdout);
}

test('GET /health, as it is bundled, answers without any setting, and opens no socket', async () => {
  const { answer, asked, environment } = await probe({ in: join(root, 'functions/health/handler.ts') });
  expect(answer).toMatchObject({ statusCode: 200, body: '{"status":"ok"}' });
  expect(asked).toEqual([]);
  expect(environment).toEqual([]);
});

test('a handler that did would be found out', async () => {
  const contents = `
    import { connect } from 'node:net';
    export const handler = async () => void connect(1, 'localhost').on('error', () => {});`;
  const { asked } = await probe({ contents });
  expect(asked).toEqual(expect.arrayContaining(['TCPWRAP']));
});
