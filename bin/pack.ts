/**
 * `npm run build [-- --out folder]`: the package as others install it, in dist/package: JavaScript and types of what the
 * exports name, the command, the migrations, the docs, and a package.json of its own. `npm pack ./dist/package` makes a
 * tarball of it.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { manifest } from './pack/manifest.ts';

const ROOT = join(import.meta.dirname, '..');
/** What lies in the package beside what the compiler writes. Tests and sources do not. */
const COPIES = ['cli/init/template', 'migrations', 'docs', 'README.md', 'CHANGELOG.md', 'LICENSE'];

const { out } = parseArgs({ options: { out: { type: 'string', default: join('dist', 'package') } } }).values;
const target = resolve(ROOT, out);

if (!isFree(target)) {
  console.error(`${target} holds what npm run build has not made: give --out a folder that is empty or not there.`);
  process.exit(1);
}
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
// First: by it the next build knows the folder, also where this one ends halfway.
writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest(readPackage(ROOT)), null, 2)}\n`);
compile();
// Only now: they need what the project has installed.
const { trimDeclarations } = await import('./pack/declarations.ts');
const { prebuild } = await import('./pack/prebuild.ts');
trimDeclarations(target, readPackage(target));
// The samples, which the compiler takes for what the application has under their names.
rmSync(join(target, 'functions/jobs'), { recursive: true });
const { notices } = prebuild(ROOT, target);
writeFileSync(join(target, 'THIRD-PARTY-NOTICES'), notices);
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
  const options = ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', target];
  const { status } = spawnSync(process.execPath, [compiler, ...options], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
