import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, expectTypeOf, test } from 'vitest';
import type * as z from 'zod';
import type { Job, JobView, JobWith, ListedJob, PayloadOf, Readiness, Schedule } from '../../client/index.ts';
import type { contracts } from '../../functions/jobs/contracts.ts';
import type { JobDetails } from '../../functions/queue/get.ts';
import type { AttemptError } from '../../functions/queue/job.ts';
import type * as wire from '../../functions/queue/job-view.ts';
import type { ScheduleView } from '../../functions/queue/list-schedules.ts';
import type { Readiness as EngineReadiness } from '../../functions/queue/readiness.ts';
import { folderInProject, typeErrors } from '../support/typescript.ts';

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
  expectTypeOf<CamelCased<ScheduleView>>().toEqualTypeOf<Schedule>();
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

/** What the compiler says of this source, as if it lay here. */
async function errorsOf(source: string): Promise<string[]> {
  const folder = await folderInProject('client-types');
  await writeFile(join(folder, 'types.ts'), source.replaceAll(`'../../`, `'${root}`));
  return typeErrors(folder);
}
