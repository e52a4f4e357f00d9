/**
 * `npm run build [-- --out folder]`: the package as others install it, in dist/package: JavaScript and types of what the
 * exports name, the migrations, the docs, and a package.json of its own. `npm pack ./dist/package` makes a tarball of it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
/** What lies in the package beside what the compiler writes. Tests and sources do not. */
const COPIES = ['migrations', 'docs', 'README.md', 'CHANGELOG.md', 'LICENSE'];

const { out } = parseArgs({ options: { out: { type: 'string', default: join('dist', 'package') } } }).values;
const target = resolve(ROOT, out);

if (!isFree(target)) {
  console.error(`${target} holds what npm run build has not made: give --out a folder that is empty or not there.`);
  process.exit(1);
}
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
// First: by it the next build knows the folder, also where this one ends halfway.
writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
compile();
for (const path of COPIES) cpSync(join(ROOT, path), join(target, path), { recursive: true });
chmodSync(join(target, 'bin/millrace.js'), 0o755);

/** What is in the folder is lost: it must be nothing, or a package that was built before. A checkout has scripts. */
function isFree(folder: string): boolean {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return true;
  try {
    const { name, scripts } = readPackage(folder);
    return name === readPackage(ROOT).name && scripts === undefined;
  } catch {
    return false;
  }
}

function readPackage(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function compile(): void {
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  const { status } = spawnSync(
    process.execPath,
    [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', target],
    {
      stdio: 'inherit',
    },
  );
  if (status !== 0) process.exit(1);
}

function manifest(): object {
  const own = readPackage(ROOT);
  const { name, version, description, license, type, engines, exports, imports, dependencies } = own;
  const { peerDependencies, peerDependenciesMeta } = own;
  // Our types name theirs.
  const types = ['@types/aws-lambda', '@types/pg'].map((name) => [name, own.devDependencies[name]]);
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    exports: {
      ...mapped(exports, (path) => ({ types: compiled(path, '.d.ts'), default: compiled(path, '.js') })),
      './package.json': './package.json',
    },
    imports: mapped(imports, (path) => compiled(path, '.js')),
    bin: { millrace: './bin/millrace.js' },
    // A second copy of zod would be another type than the one in a contract: whatever the project has of it serves us too.
    dependencies: sorted({ ...dependencies, ...Object.fromEntries(types), zod: `^${dependencies.zod}` }),
    peerDependencies,
    peerDependenciesMeta,
  };
}

function mapped<To>(entries: Record<string, string>, to: (path: string) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, to(path)]));
}

function sorted(entries: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function compiled(path: string, ending: string): string {
  return path.replace(/\.ts$/, ending);
}
