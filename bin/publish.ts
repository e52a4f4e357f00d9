/**
 * `npm run release [-- --publish]`: everything that a release is but its publication. The package is built and checked; its
 * tarball, SBOM and licences lie in dist/release. With `--publish` it goes to npm, with provenance. See docs/releasing.md.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { problemsOf } from './pack/check.ts';
import { refuseOthers } from './pack/licences.ts';
import { prebuild } from './pack/prebuild.ts';
import { licencesIn, type Own, sbomOf } from './pack/sbom.ts';
import { lacks, stateOf } from './publish/readiness.ts';

const ROOT = join(import.meta.dirname, '..');
const OUT = join(ROOT, 'dist', 'release');

const { publish } = parseArgs({ options: { publish: { type: 'boolean', default: false } } }).values;
const own: Own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const missing = lacks(stateOf(ROOT, own.version));
for (const line of missing) console.error(`${publish ? 'missing' : 'would be missing'}: ${line}`);
if (publish && missing.length > 0) fail('Nothing was published.');

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const folder = join(OUT, 'package');
run(process.execPath, [join(ROOT, 'bin', 'pack.ts'), '--out', folder]);
run('npm', ['pack', '--silent', folder]);
const tarball = join(OUT, `${own.name}-${own.version}.tgz`);

const problems = await problemsOf(new Uint8Array(readFileSync(tarball)));
if (problems.length > 0) fail(problems.join('\n'));

const { packages } = prebuild(ROOT, join(OUT, 'prebuilt'));
rmSync(join(OUT, 'prebuilt'), { recursive: true });
const sbom = sbomOf(ROOT, own, packages);
const licences = licencesIn(sbom);
refuseOthers(licences);
writeFileSync(join(OUT, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
writeFileSync(join(OUT, 'licences.json'), `${JSON.stringify(licences, null, 2)}\n`);
console.log(`${tarball}: checked, with the ${licences.length} packages in sbom.cdx.json and licences.json beside it`);

const how = publish ? ['--provenance'] : ['--dry-run', '--loglevel', 'warn'];
run('npm', ['publish', tarball, '--access', 'public', ...how]);
if (!publish) console.log('Nothing was published: --publish does.');

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, {
    cwd: OUT,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) fail(`${command} ${args[0]} failed${error ? `: ${error.message}` : ''}`);
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
