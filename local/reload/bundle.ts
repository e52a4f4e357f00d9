import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import type { BuildContext, BuildFailure, Message, OutputFile } from 'esbuild';
import type { Recipe } from './recipe.ts';

/** The bundle in one folder, and what would take its place. */
export class Bundle {
  readonly directory: string;
  readonly #recipe: Recipe;
  #sources: ReadonlySet<string>;
  #context: BuildContext | undefined;
  #built: readonly OutputFile[] = [];
  #errors: readonly string[] = [];

  constructor(directory: string, recipe: Recipe) {
    this.directory = directory;
    this.#recipe = recipe;
    this.#sources = new Set(recipe.sources);
  }

  get sources(): ReadonlySet<string> {
    return this.#sources;
  }

  /** Folders of its sources. */
  get folders(): Set<string> {
    return new Set([...this.#sources].map((path) => dirname(path)));
  }

  /** Why its sources, as they are, cannot be built: `jobs/processors.ts:3:9: Expected ";" but found "x"`. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  /** Builds from the sources as they are now; esbuild keeps what has not changed. The folder stays as it is until `take`. */
  async build(): Promise<void> {
    try {
      this.#context ??= await this.#open();
      const { outputFiles = [], metafile } = await this.#context.rebuild();
      this.#built = outputFiles;
      this.#errors = [];
      const inputs = Object.keys(metafile?.inputs ?? {}).filter((path) => !path.includes('node_modules/'));
      this.#sources = new Set(inputs.map((path) => resolve(this.#recipe.options.absWorkingDir, path)));
    } catch (error) {
      const { errors = [] } = error as Partial<BuildFailure>;
      if (errors.length === 0) throw error;
      this.#errors = errors.map(sentence);
    }
  }

  /** Puts what was built last into the folder. Resolves whether that changed anything. */
  async take(): Promise<boolean> {
    const built = this.#built;
    this.#built = [];
    const changed = await Promise.all(built.map((file) => this.#put(file)));
    return changed.includes(true);
  }

  /** Ends a build that goes on; it then has errors. */
  async cancel(): Promise<void> {
    await this.#context?.cancel();
  }

  async close(): Promise<void> {
    await this.#context?.dispose();
  }

  async #open(): Promise<BuildContext> {
    const { context } = await import('esbuild');
    return context({ ...this.#recipe.options, write: false, metafile: true, logLevel: 'silent' });
  }

  /** Whole at once: a worker may start at any time. */
  async #put({ path, contents }: OutputFile): Promise<boolean> {
    const [name = ''] = Object.keys(this.#recipe.options.entryPoints);
    const file = join(this.directory, relative(join(this.#recipe.options.outdir, dirname(name)), path));
    const before = await readFile(file).catch(() => undefined);
    if (before?.equals(contents)) return false;
    await writeFile(`${file}.new`, contents);
    await rename(`${file}.new`, file);
    return true;
  }
}

function sentence({ text, location }: Message): string {
  return location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text;
}
