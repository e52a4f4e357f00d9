import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { execa } from 'execa';

/** A function of a synthesized stack. */
export interface Bundled {
  /** The folder of its bundle. */
  readonly folder: string;
  /** Its environment, as CloudFormation would fill it in. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What CloudFormation knows: by `Resource.Attribute` or name, the first pattern that fits. */
export type Values = readonly (readonly [what: RegExp, value: string])[];

/** The functions of a queue by the last part of their construct paths. */
export async function functionsOf(
  assembly: string,
  stack: string,
  values: Values,
): Promise<Readonly<Record<string, Bundled>>> {
  const template = JSON.parse(await readFile(join(assembly, `${stack}.template.json`), 'utf8'));
  const resources = Object.values<Resource>(template.Resources).filter(
    ({ Type, Metadata }) =>
      Type === 'AWS::Lambda::Function' && Metadata?.['aws:cdk:path']?.startsWith(`${stack}/Jobs/`),
  );
  return Object.fromEntries(
    resources.map(({ Metadata = {}, Properties }) => [
      Metadata['aws:cdk:path']?.split('/').at(-2),
      {
        folder: join(assembly, Metadata['aws:asset:path'] ?? ''),
        environment: Object.fromEntries(
          Object.entries(Properties.Environment?.Variables ?? {}).map(([name, value]) => [name, textOf(value, values)]),
        ),
      },
    ]),
  );
}

interface Resource {
  readonly Type: string;
  readonly Metadata?: Readonly<Record<string, string>>;
  readonly Properties: { readonly Environment?: { readonly Variables: Readonly<Record<string, unknown>> } };
}

function textOf(value: unknown, values: Values): string {
  if (typeof value === 'string') return value;
  const [[intrinsic, argument] = ['', '']] = Object.entries(value as Record<string, unknown>);
  if (intrinsic === 'Fn::Join') {
    const [separator, parts] = argument as [string, unknown[]];
    return parts.map((part) => textOf(part, values)).join(separator);
  }
  const name = [argument].flat().join('.');
  const [, text] = values.find(([what]) => what.test(name)) ?? [];
  if (text === undefined) throw new Error(`the template wants ${intrinsic} ${name}, which nobody gave a value`);
  return text;
}

/** Runs a bundle once in a process of its own, with nothing of this one in its environment. Resolves what its handler returns. */
export async function invoke(
  { folder, environment }: Bundled,
  event: unknown,
  own: Readonly<Record<string, string>>,
): Promise<Returned> {
  const source = `
    const end = Date.now() + 120000;
    const context = { functionName: 'f', awsRequestId: 'r', getRemainingTimeInMillis: () => end - Date.now() };
    const { handler } = await import(${JSON.stringify(pathToFileURL(join(folder, 'index.mjs')).href)});
    const returned = await handler(${JSON.stringify(event)}, context);
    // Logs go to the same place before it.
    process.stdout.write('\\n' + (JSON.stringify(returned) ?? 'null'), () => process.exit());`;
  const { stdout } = await execa(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: folder,
    extendEnv: false,
    env: { ...environment, LAMBDA_TASK_ROOT: folder, ...own },
  });
  return JSON.parse(stdout.split('\n').at(-1) ?? '');
}

// biome-ignore lint/suspicious/noExplicitAny: whatever a handler returns; a test that reads what is not there fails.
type Returned = any;
