import { cp, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Resource {
  readonly Type: string;
  readonly Properties: Record<string, unknown>;
  readonly Metadata?: Record<string, unknown>;
}

/** By logical id. */
export type Resources = Readonly<Record<string, Resource>>;

export function ofType(resources: Resources, type: string): Resource[] {
  return Object.values(resources).filter(({ Type }) => Type === type);
}

/** A copy of an assembly whose resources are changed, with further files. */
export async function changedAssembly(
  assembly: string,
  change: (resources: Resources) => void,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'millrace-assembly-'));
  await cp(assembly, copy, { recursive: true });
  const file = join(copy, 'Millrace.template.json');
  const template: { Resources: Record<string, Resource> } = JSON.parse(await readFile(file, 'utf8'));
  change(template.Resources);
  await writeFile(file, JSON.stringify(template));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(copy, name)), { recursive: true });
    await writeFile(join(copy, name), text);
  }
  return copy;
}
