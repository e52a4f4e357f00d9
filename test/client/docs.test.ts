import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TransportCode } from '../../client/index.ts';
import { PROBLEMS } from '../../functions/lambda/problems.ts';
import { blocksOf } from '../docs/blocks.ts';
import { folderInProject, typeErrors } from '../support/typescript.ts';
import { describe, expect, test } from './runtime.ts';
import { expectedSignature, signatureOf } from './sigv4.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const page = await readFile(join(root, 'docs/client.md'), 'utf8');
const blocks = blocksOf('docs/client.md');
const program = blocks.map(({ text }) => text).join('\n');

const SECRET = 'not a secret';

describe('docs/client.md', () => {
  test('is one program that compiles, runs against the project, and prints what it says', { timeout: 180_000 }, async ({
    openApi,
  }) => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['ts']));
    const file = await written(program);
    const env = {
      PATH: process.env.PATH,
      MILLRACE_URL: openApi.url,
      MILLRACE_TOKEN: openApi.tokens.operator,
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_SESSION_TOKEN: 'session',
    };
    const { stdout } = await run(process.execPath, [file], { env }).catch((error) => expect.fail(error.stderr));
    expect(stdout.trimEnd().split('\n')).toEqual(promised(program));
    const signed = openApi.seen.filter(({ headers }) => headers.authorization?.startsWith('AWS4-HMAC-SHA256'));
    expect(signed.map(({ method, target }) => `${method} ${target.split('/')[1]}`)).toEqual(['GET jobs', 'POST jobs']);
    for (const seen of signed) expect(signatureOf(seen)).toBe(expectedSignature(seen, SECRET));
  });

  test('names every code that is none of the API’s, and no problem that there is not', () => {
    const codes: Record<TransportCode, true> = {
      unreachable: true,
      'timed-out': true,
      throttled: true,
      'gateway-error': true,
      unauthorized: true,
      forbidden: true,
      redirected: true,
      'unexpected-answer': true,
    };
    const table = [...page.matchAll(/^\| `([a-z-]+)` +\| [^|]+\| (?:yes|no) /gm)].map(([, code]) => code);
    expect(table.sort()).toEqual(Object.keys(codes).sort());
    for (const [, code = ''] of page.matchAll(/error\.code === '([a-z-]+)'/g)) expect(PROBLEMS).toHaveProperty(code);
  });
});

/** What stands behind each console.log: the line that it prints. */
function promised(source: string): string[] {
  const calls = source.split('\n').filter((line) => line.includes('console.log('));
  return calls.map((line) => / \/\/ (.*)$/.exec(line)?.[1] ?? expect.fail(`it does not say what this prints: ${line}`));
}

/** Writes a program as if it lay in the tree, and type-checks it. Resolves its file. */
async function written(source: string): Promise<string> {
  const folder = await folderInProject('client-docs');
  const file = join(folder, 'program.ts');
  await writeFile(file, source.replaceAll(`'./functions/`, `'${root}functions/`));
  expect(await typeErrors(folder)).toEqual([]);
  return file;
}
