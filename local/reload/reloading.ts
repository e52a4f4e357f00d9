import { basename, dirname, extname, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Bundle } from './bundle.ts';
import { readRecipe } from './recipe.ts';
import { watchFolders } from './watch-folders.ts';

/** Milliseconds without a change that end a burst of them: a save in several steps, a checkout. */
const QUIET_MS = 50;
/** Milliseconds after which sources that cannot be built are tried again: what mends them may lie where nobody watches. */
const AGAIN_MS = 1000;
const CODE = new Set(['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs', '.json']);
/** Files or reasons named at most in a line. */
const NAMED = 3;

export interface ReloadOptions {
  /** Folders of the bundles that run. */
  readonly bundles: Iterable<string>;
  readonly projectDirectory: string;
  /** Folders of the CDK app: what it says is read at the start alone. */
  readonly appFolders: readonly string[];
  readonly line: (text: string) => void;
  /** What lies in these folders is new. */
  readonly onBuilt: (directories: ReadonlySet<string>) => void;
}

/**
 * Builds bundles anew as their sources change. All that a change touches is taken together and only if all of it can be built:
 * until then what runs stays as it is, and the terminal says why.
 */
export class Reloading {
  readonly #options: ReloadOptions;
  readonly #bundles: readonly Bundle[];
  #changed = new Set<string>();
  #broken = '';
  /** Nobody watched while the app was synthesized: what was edited then is built once more. */
  #started = false;
  #watching: { close(): void } | undefined;
  #work: Promise<void> | undefined;
  #closed = false;

  /** Watches from now on. Undefined if no bundle says how it was built. */
  static async start(options: ReloadOptions): Promise<Reloading | undefined> {
    const directories = [...new Set(options.bundles)];
    const recipes = await Promise.all(
      directories.map(async (directory) => [directory, await readRecipe(directory)] as const),
    );
    const bundles = recipes.flatMap(([directory, recipe]) => (recipe ? [new Bundle(directory, recipe)] : []));
    return bundles.length === 0 ? undefined : new Reloading(options, bundles);
  }

  private constructor(options: ReloadOptions, bundles: readonly Bundle[]) {
    this.#options = options;
    this.#bundles = bundles;
    this.#watch();
    this.#begin();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watching?.close();
    await Promise.all(this.#bundles.map((bundle) => bundle.cancel()));
    await this.#work;
    await Promise.all(this.#bundles.map((bundle) => bundle.close()));
  }

  #watch(): void {
    const { projectDirectory, appFolders, line } = this.#options;
    const sources = this.#bundles.flatMap((bundle) => [...bundle.folders]);
    const before = this.#watching;
    // That of the project has its tsconfig.json, and what an install changes.
    this.#watching = watchFolders(
      new Set([projectDirectory, ...sources, ...appFolders]),
      (path) => this.#onChange(path),
      ({ message }) => line(`edits are not seen (${message}): start again to apply them`),
    );
    before?.close();
  }

  #onChange(path: string): void {
    if (!this.#matters(path)) return;
    this.#changed.add(path);
    this.#begin();
  }

  #begin(): void {
    this.#work ??= this.#reload()
      .catch((error: Error) => this.#options.line(`an edit was not applied: ${error.message}`))
      .finally(() => {
        this.#work = undefined;
        // What has changed while the last build was taken.
        if (this.#changed.size > 0 && !this.#closed) this.#begin();
      });
  }

  /** What a program writes all the time beside the sources (a log, a database) is no reason to build. */
  #matters(path: string): boolean {
    return (
      CODE.has(extname(path)) || this.#bundles.some(({ sources, folders }) => sources.has(path) || folders.has(path))
    );
  }

  async #reload(): Promise<void> {
    const paths = new Set<string>();
    let began = performance.now();
    for (;;) {
      await this.#quiet();
      if (this.#closed) return;
      const changed = this.#changed;
      this.#changed = new Set();
      if (changed.size > 0) began = performance.now() - QUIET_MS;
      for (const path of changed) paths.add(path);
      await this.#build(changed);
      if (this.#closed) return;
      if (this.#changed.size > 0) continue;
      if (this.#bundles.every(({ errors }) => errors.length === 0)) break;
      this.#tellBroken();
      for (let waited = 0; waited < AGAIN_MS && this.#changed.size === 0; waited += QUIET_MS) await sleep(QUIET_MS);
    }
    this.#broken = '';
    const taken = await Promise.all(
      this.#bundles.map(async (bundle) => ((await bundle.take()) ? [bundle.directory] : [])),
    );
    const directories = new Set(taken.flat());
    this.#watch();
    if (directories.size > 0) this.#options.onBuilt(directories);
    this.#tell([...paths], directories.size > 0, performance.now() - began);
    this.#started = true;
  }

  /** Resolves when nothing has changed for a moment. */
  async #quiet(): Promise<void> {
    let seen = -1;
    while (seen !== this.#changed.size) {
      seen = this.#changed.size;
      await sleep(QUIET_MS);
    }
  }

  /** Those that what changed is a source of, and those that could not be built before. */
  async #build(changed: ReadonlySet<string>): Promise<void> {
    const touched = new Set(this.#bundles.filter(({ errors }) => !this.#started || errors.length > 0));
    for (const path of changed) for (const bundle of this.#touchedBy(path)) touched.add(bundle);
    await Promise.all([...touched].map((bundle) => bundle.build()));
  }

  /** What is nobody's source (a new file, a tsconfig.json) may be what an import leads to from now on, of all beside it. */
  #touchedBy(path: string): readonly Bundle[] {
    const own = this.#bundles.filter(({ sources }) => sources.has(path));
    if (own.length > 0) return own;
    const folder = dirname(path);
    if (folder === this.#options.projectDirectory) return this.#bundles;
    return this.#bundles.filter(({ folders }) => folders.has(folder) || folders.has(path));
  }

  #tellBroken(): void {
    const text = inShort(this.#bundles.flatMap((bundle) => bundle.errors));
    if (text === this.#broken) return;
    this.#broken = text;
    this.#options.line(`not reloaded, the code from before goes on: ${text}`);
  }

  #tell(paths: readonly string[], reloaded: boolean, ms: number): void {
    const { projectDirectory, appFolders, line } = this.#options;
    const named = (of: readonly string[]) => inShort(of.map((path) => relative(projectDirectory, path)));
    const sources = paths.filter((path) => this.#bundles.some((bundle) => bundle.sources.has(path)));
    const unnamed = this.#started ? 'what is imported' : 'what was edited during the start';
    if (reloaded) line(`reloaded   ${named(sources) || unnamed}  in ${Math.round(ms)} ms`);
    const ofApp = paths.filter(
      (path) => !sources.includes(path) && (appFolders.includes(dirname(path)) || basename(path) === 'cdk.json'),
    );
    if (ofApp.length > 0) line(`${named(ofApp)} changed: if the CDK app reads it, start again to apply it`);
  }
}

/** Each once, the first few of them. */
function inShort(texts: readonly string[]): string {
  const all = [...new Set(texts)];
  const more = all.length > NAMED ? [`${all.length - NAMED} more`] : [];
  return [...all.slice(0, NAMED), ...more].join(', ');
}
