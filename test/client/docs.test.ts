import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TransportCode } from '../../client/index.ts';
import { PROBLEMS } from '../../functions/lambda/problems.ts';
import { describe, expect, test } from './runtime.ts';
import { expectedSignature, signatureOf } from './sigv4.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));
const page = await readFile(join(root, 'docs/client.md'), 'utf8');
const blocks = [...page.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, text = '']) => ({
  language,
  text,
}));
const program = blocks.map(({ text }) => text).join('\n');

const SECRET = 'not a secret';

describe('docs/client.md', () => {
  test('is one program that compiles, runs against the project, and prints what it says', { timeout: 180_000 }, async ({
    openApi,
  }) => {
    expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['ts']));
    const { file, remove } = await written(program);
    const env = {
      PATH: process.env.PATH,
      MILLRACE_URL: openApi.url,
      MILLRACE_TOKEN: openApi.tokens.operator,
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_SESSION_TOKEN: 'session',
    };
    try {
      const { stdout } = await run(process.execPath, [file], { env }).catch((error) => expect.fail(error.stderr));
      expect(stdout.trimEnd().split('\n')).toEqual(promised(program));
    } finally {
      await remove();
    }
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

/** Writes a program as if it lay in the tree, type-checked with the project's settings. */
async function written(source: string) {
  await mkdir(join(root, 'dist'), { recursive: true });
  // Inside the project, so that its packages and its own name are found; dist is ignored by git.
  const directory = await mkdtemp(join(root, 'dist', 'client-docs-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  const file = join(directory, 'program.ts');
  await writeFile(file, source.replaceAll(`'./functions/`, `'${root}functions/`));
  const compilerOptions = { rewriteRelativeImportExtensions: false };
  const settings = { extends: join(root, 'tsconfig.json'), include: ['.'], compilerOptions };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(settings));
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '-p', directory]).catch(
    async ({ stdout }) => {
      await remove();
      expect.fail(stdout);
    },
  );
  return { file, remove };
}
