import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildOptions } from 'esbuild';
import * as z from 'zod';

const Options = z.looseObject({
  /** One: `work/index` and its module. */
  entryPoints: z.record(z.string(), z.string()),
  outdir: z.string(),
  absWorkingDir: z.string(),
});
const Recipe = z.object({ options: Options, sources: z.array(z.string()) });

/** How a bundle was built. */
export interface Recipe {
  readonly options: BuildOptions & z.output<typeof Options>;
  /** Absolute paths of what went into it, without packages. */
  readonly sources: readonly string[];
}

/** What lib/bundles/recipe.ts left in a bundle; undefined in one that was not made for this machine, or that never changes. */
export async function readRecipe(directory: string): Promise<Recipe | undefined> {
  const text = await readFile(join(directory, 'millrace-build.json'), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (Recipe.parse(JSON.parse(text)) as Recipe);
}
