import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import type * as z from 'zod';
import type { Job, JobView, JobWith, ListedJob, PayloadOf, Readiness } from '../../client/index.ts';
import type { contracts } from '../../functions/jobs/contracts.ts';
import type { JobDetails } from '../../functions/queue/get.ts';
import type { AttemptError } from '../../functions/queue/job.ts';
import type * as wire from '../../functions/queue/job-view.ts';
import type { Readiness as EngineReadiness } from '../../functions/queue/readiness.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../', import.meta.url));

/** `run_at` → `runAt`, as names.ts does it. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Letter}${infer Tail}`
  ? `${Head}${Uppercase<Letter>}${Camel<Tail>}`
  : Name;
type CamelCased<T> = T extends readonly (infer Item)[]
  ? readonly CamelCased<Item>[]
  : T extends object
    ? { readonly [Name in keyof T & string as Camel<Name>]: CamelCased<T[Name]> }
    : T;

test('the client’s types are those of the API', () => {
  expectTypeOf<CamelCased<wire.JobView>>().toEqualTypeOf<JobView>();
  expectTypeOf<CamelCased<wire.ListedJob>>().toEqualTypeOf<CamelCased<ListedJob>>();
  expectTypeOf<CamelCased<Omit<JobDetails, 'payload' | 'result'>>>().toEqualTypeOf<CamelCased<Job>>();
  expectTypeOf<CamelCased<AttemptError>>().toEqualTypeOf<CamelCased<Job['errors'][number]>>();
  expectTypeOf<CamelCased<Readiness>>().toEqualTypeOf<CamelCased<{ status: 'ready' } & EngineReadiness>>();
  expectTypeOf<JobWith<'payload'>>().toHaveProperty('payload').toBeUnknown();
});

test('payloads are what the schemas take', () => {
  type Contracts = typeof contracts;
  expectTypeOf<PayloadOf<Contracts, 'hello.greet'>>().toEqualTypeOf<z.input<Contracts['hello.greet']['payload']>>();
  expectTypeOf<PayloadOf<Contracts, 'github.webhook'>>().toEqualTypeOf<
    z.input<Contracts['github.webhook']['payload']>
  >();
});

test('a wrong kind, payload or option does not compile', { timeout: 120_000 }, async () => {
  const source = await readFile(new URL('types.ts', import.meta.url), 'utf8');
  const expected = source.match(/@ts-expect-error/g)?.length ?? 0;
  expect(expected).toBeGreaterThan(20);
  expect(await errorsOf(source)).toEqual([]);
  // Each of them is an error of its own: with the marks taken away there are as many, one a mark.
  const errors = await errorsOf(source.replaceAll('@ts-expect-error', 'refused'));
  expect(new Set(errors.map((line) => /\((\d+),/.exec(line)?.[1])).size).toBe(expected);
});

/** What tsc says of this source, as if it lay here. */
async function errorsOf(source: string): Promise<string[]> {
  await mkdir(join(root, 'dist'), { recursive: true });
  // Inside the project, so that its packages are found; dist is ignored by git.
  const directory = await mkdtemp(join(root, 'dist', 'client-types-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'types.ts'), source.replaceAll(`'../../`, `'${root}`));
  const compilerOptions = { rewriteRelativeImportExtensions: false };
  const settings = { extends: join(root, 'tsconfig.json'), include: ['.'], compilerOptions };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(settings));
  const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--pretty', 'false', '-p', directory];
  const { stdout } = await run(process.execPath, tsc).catch((error) => error);
  return String(stdout)
    .split('\n')
    .filter((line) => line.includes('error TS'));
}
