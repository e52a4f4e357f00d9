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
const Metadata = z.record(z.string(), z.array(z.looseObject({ type: z.string(), data: z.unknown() })));
const Artifact = z.looseObject({
  type: z.string(),
  properties: z.looseObject({ templateFile: z.string().optional(), directoryName: z.string().optional() }).optional(),
  metadata: Metadata.optional(),
  additionalMetadataFile: z.string().optional(),
});
const Manifest = z.looseObject({ artifacts: z.record(z.string(), Artifact).default({}) });
/** What the construct says of itself. */
const Mark = z.looseObject({ kinds: z.array(z.string()) });

export type Resource = z.output<typeof Resource>;

/** Resources of one synthesized stack, by logical id. */
export interface Stack {
  /** Unique among the stacks of the app. */
  readonly name: string;
  /** Cloud assembly that the asset paths are relative to. */
  readonly directory: string;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly queues: readonly Queue[];
}

/** A JobQueue in a stack. */
export interface Queue {
  /** Of the construct: `Shop/Jobs`. */
  readonly path: string;
  readonly kinds: readonly string[];
}

/** Every stack of a cloud assembly, those of its stages included. @throws StartError `template_unusable` */
export async function readStacks(directory: string): Promise<Stack[]> {
  const { artifacts } = await readJson(join(directory, 'manifest.json'), Manifest);
  const stacks = Object.entries(artifacts).map(async ([name, artifact]) => {
    const { templateFile, directoryName } = artifact.properties ?? {};
    if (artifact.type === 'cdk:cloud-assembly' && directoryName) return readStacks(join(directory, directoryName));
    if (artifact.type !== 'aws:cloudformation:stack' || !templateFile) return [];
    const { Resources } = await readJson(join(directory, templateFile), Template);
    const queues = await readQueues(directory, artifact);
    return [{ name, directory: resolve(directory), resources: new Map(Object.entries(Resources)), queues }];
  });
  return (await Promise.all(stacks)).flat();
}

async function readQueues(directory: string, artifact: z.output<typeof Artifact>): Promise<Queue[]> {
  const { metadata = {}, additionalMetadataFile: file } = artifact;
  const all = file === undefined ? metadata : { ...metadata, ...(await readJson(join(directory, file), Metadata)) };
  return Object.entries(all).flatMap(([path, entries]) =>
    entries.flatMap(({ type, data }) => {
      const mark = type === 'millrace:queue' ? Mark.safeParse(data).data : undefined;
      return mark ? [{ path: path.replace(/^\//, ''), kinds: mark.kinds }] : [];
    }),
  );
}

async function readJson<Schema extends z.ZodType>(file: string, schema: Schema): Promise<z.output<Schema>> {
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (cause) {
    throw new StartError(
      'template_unusable',
      `${file} cannot be read as what cdk synth writes; run npx cdk synth to see why.`,
      { cause },
    );
  }
}

export function ofType(stack: Stack, type: string): [id: string, resource: Resource][] {
  return [...stack.resources].filter(([, resource]) => resource.Type === type);
}

/** `Millrace/Jobs/Work/Resource` → `Work`; without path metadata the logical id. */
export function nameOf(id: string, resource: Resource): string {
  const parts = pathOf(resource)
    .split('/')
    .filter((part) => part !== '' && part !== 'Resource' && part !== 'Default');
  return parts.at(-1) ?? id;
}

/** Of its construct; empty without path metadata. */
export function pathOf({ Metadata }: Resource): string {
  const path = Metadata['aws:cdk:path'];
  return typeof path === 'string' ? path : '';
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

/** Logical ids that a value refers to, however deep. */
export function idsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(idsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === 'Ref') return [String(inner)];
    if (key === 'Fn::GetAtt') return [attributeOf(inner)[0]];
    return idsIn(inner);
  });
}

/**
 * The text that a value of the template is once it is deployed, where `known` says what a resource's `Ref` or attribute is;
 * undefined if that, or another part of it, is not known.
 */
export function textOf(
  value: unknown,
  known: (id: string, attribute: string) => string | undefined,
): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  const [[name, inner] = ['', undefined], ...others] = Object.entries(value) as [string, unknown][];
  if (others.length > 0) return undefined;
  if (name === 'Ref') return known(String(inner), 'Ref');
  if (name === 'Fn::GetAtt') return known(...attributeOf(inner));
  if (name !== 'Fn::Join' || !Array.isArray(inner) || !Array.isArray(inner[1])) return undefined;
  const parts = inner[1].map((part) => textOf(part, known));
  return parts.includes(undefined) ? undefined : parts.join(String(inner[0]));
}

function attributeOf(inner: unknown): [id: string, attribute: string] {
  const [id, ...attribute] = Array.isArray(inner) ? inner.map(String) : String(inner).split('.');
  return [id ?? '', attribute.join('.')];
}
