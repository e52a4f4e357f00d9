import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { StartError } from './start-error.ts';

const Resource = z.looseObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  Metadata: z.record(z.string(), z.unknown()).default({}),
});
const Template = z.looseObject({ Resources: z.record(z.string(), Resource).default({}) });
const Manifest = z.looseObject({
  artifacts: z.record(
    z.string(),
    z.looseObject({ type: z.string(), properties: z.looseObject({ templateFile: z.string().optional() }).optional() }),
  ),
});

export type Resource = z.output<typeof Resource>;

/** Resources of one synthesized stack, by logical id. */
export interface Stack {
  /** Cloud assembly that the asset paths are relative to. */
  readonly directory: string;
  readonly resources: ReadonlyMap<string, Resource>;
}

/** Every stack of a cloud assembly. @throws StartError `template_unusable` */
export async function readStacks(directory: string): Promise<Stack[]> {
  const manifest = await readJson(join(directory, 'manifest.json'), Manifest);
  const files = Object.values(manifest.artifacts).flatMap(({ type, properties }) =>
    type === 'aws:cloudformation:stack' && properties?.templateFile ? [properties.templateFile] : [],
  );
  return Promise.all(
    files.map(async (file) => {
      const { Resources } = await readJson(join(directory, file), Template);
      return { directory: resolve(directory), resources: new Map(Object.entries(Resources)) };
    }),
  );
}

async function readJson<Schema extends z.ZodType>(file: string, schema: Schema): Promise<z.output<Schema>> {
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    throw new StartError(
      'template_unusable',
      `${file} cannot be read as what cdk synth writes; run npm run synth to see why.`,
      { cause },
    );
  }
}

export function ofType(stack: Stack, type: string): [id: string, resource: Resource][] {
  return [...stack.resources].filter(([, resource]) => resource.Type === type);
}

/**
 * The resource of that type which an intrinsic (`Ref`, `Fn::GetAtt`, however deep in a `Fn::Join`) points to, going through
 * Lambda versions and aliases; undefined if it points elsewhere.
 */
export function pointedTo(stack: Stack, value: unknown, type: string): [id: string, resource: Resource] | undefined {
  for (const id of idsIn(value)) {
    const resource = stack.resources.get(id);
    if (resource?.Type === type) return [id, resource];
    if (resource?.Type === 'AWS::Lambda::Version' || resource?.Type === 'AWS::Lambda::Alias') {
      return pointedTo(stack, resource.Properties.FunctionName, type);
    }
  }
  return undefined;
}

function idsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(idsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'Ref') return [String(inner)];
    if (key === 'Fn::GetAtt') return [String(Array.isArray(inner) ? inner[0] : inner).split('.')[0] ?? ''];
    return idsIn(inner);
  });
}
