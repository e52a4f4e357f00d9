import type { Loader } from 'esbuild';

/** What processors need in the worker's bundle beyond the code that esbuild finds by itself. */
export interface BundlingProps {
  /**
   * Packages that are not bundled but installed into the bundle, for Lambda's platform and at the version that the project
   * has: those with native code (`sharp`, `@node-rs/…`), and those that read files of their own. They must be installed
   * in the project, and bring prebuilt binaries: no scripts are run. Needs npm at synth; what was installed is kept in
   * `node_modules/.cache/millrace`.
   * @default - none
   */
  readonly nodeModules?: readonly string[];
  /**
   * Files and folders of the project that lie in the bundle as well, as `{ 'path/in/bundle': 'path/in/project' }`: fonts,
   * templates, Prisma's engine. A processor finds them relative to `process.env.LAMBDA_TASK_ROOT`.
   * @default - none
   */
  readonly files?: Readonly<Record<string, string>>;
  /** @default - what esbuild does by itself */
  readonly esbuild?: EsbuildProps;
}

/** Settings of esbuild, as it names them. */
export interface EsbuildProps {
  /** Imports that stay as they are, because a layer brings them or nothing ever loads them. @default - none */
  readonly external?: readonly string[];
  /** How files are read, by their ending: `{ '.sql': 'text' }`. @default - esbuild's own */
  readonly loader?: Readonly<Record<string, Loader>>;
  /** Expressions by the global names that stand for them: `{ BUILD: '"7f3c"' }`. @default - none */
  readonly define?: Readonly<Record<string, string>>;
}
