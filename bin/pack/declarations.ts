import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** What a declaration may name: packages that whoever uses that face has anyway, with types of their own. */
const MAY_NAME = /^(aws-cdk-lib(\/.*)?|constructs|esbuild|zod|@opentelemetry\/api)$/;

/**
 * Leaves those declarations that the package's faces are made of, and writes `./x.js` in them where the compiler leaves the
 * `./x.ts` of the source, which older compilers do not read.
 * @throws Error if one names a package that whoever compiles against it need not have
 */
export function trimDeclarations(folder: string, { exports }: { exports: Record<string, { types?: string }> }): void {
  const kept = new Map<string, string>();
  const keep = (path: string): void => {
    if (kept.has(path)) return;
    const text = readFileSync(join(folder, path), 'utf8').replace(SPECIFIER, asCompiled);
    kept.set(path, text);
    for (const [, , name = ''] of text.matchAll(SPECIFIER)) {
      if (name.startsWith('.')) keep(normalize(join(dirname(path), name.replace(/\.js$/, '.d.ts'))));
      else if (!MAY_NAME.test(name)) {
        throw new Error(`${path} names "${name}", which whoever compiles against the package need not have`);
      }
    }
  };
  for (const { types } of Object.values(exports)) if (types !== undefined) keep(normalize(types));
  for (const path of globSync('**/*.d.ts', { cwd: folder })) {
    const text = kept.get(normalize(path));
    if (text === undefined) rmSync(join(folder, path));
    else writeFileSync(join(folder, path), text);
  }
  // Types alone: there is nothing in what they were compiled to.
  for (const path of globSync('**/*.js', { cwd: folder })) {
    const isEmpty = readFileSync(join(folder, path), 'utf8').trim() === 'export {};';
    if (isEmpty && !existsSync(join(folder, path.replace(/\.js$/, '.d.ts')))) rmSync(join(folder, path));
  }
}

const SPECIFIER = /((?:\bfrom|\bimport)\s*\(?\s*['"])([^'"]+)(['"])/g;

function asCompiled(_all: string, before: string, name: string, after: string): string {
  return `${before}${name.startsWith('.') ? name.replace(/\.ts$/, '.js') : name}${after}`;
}
