import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../local/bundle.ts';
import { adoptApp, startIn } from '../local/project.ts';
import { expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const run = promisify(execFile);
const blocks = blocksOf('docs/http.md');

test('docs/http.md shows nothing but what is executed below', () => {
  expect(blocks.map(({ language, name }) => `${language} ${name}`)).toEqual(['sh auth', 'sh tokens']);
});

test('docs/http.md has every route of the API, and no other', async () => {
  const { paths } = JSON.parse(await readFile(join(root, 'docs/openapi.json'), 'utf8'));
  const page = await readFile(join(root, 'docs/http.md'), 'utf8');
  const documented = [...page.matchAll(/^\| `([A-Z]+) (\S+)`(?:, `…(\/\w+)`)? /gm)].flatMap(
    ([, method, path = '', other]) => {
      const one = `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
      return other === undefined ? [one] : [one, one.replace(/\/\w+$/, other)];
    },
  );
  const served = Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'parameters')
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const plain = (route: string) => route.replaceAll(/\{\w+\}/g, '{}');
  expect(documented.map(plain).toSorted()).toEqual(served.map(plain).toSorted());
});

test('its tokens open what asks for them, and can be listed and revoked', { timeout: 90_000 }, async ({ own }) => {
  const directory = await temporaryDirectory();
  await adoptApp(directory);
  expect(blockNamed(blocks, 'auth').trim()).toBe('MILLRACE_AUTH=on npm start');
  const url = await startIn(directory, { DATABASE_URL: own.url, MILLRACE_AUTH: 'on' }).ready;

  const commands = blockNamed(blocks, 'tokens')
    .replaceAll(/npm run (?:-s )?token --/g, `node ${root}bin/millrace.ts token`)
    .replaceAll('http://127.0.0.1:3000', url);
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', commands], { cwd: directory });
  // curl ends without a line feed.
  const [, job, listed] = /^(\{.*\})([\s\S]*)$/.exec(stdout) ?? [];
  expect(JSON.parse(job as string)).toMatchObject({ kind: 'hello.greet', outcome: 'created' });
  expect(listed).toMatch(/\bme\b.*\boperator\b/);
  expect(JSON.parse(await readFile(join(directory, '.millrace/tokens.json'), 'utf8'))).toEqual({ tokens: [] });
});
