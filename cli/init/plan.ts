import { gitignore } from './gitignore.ts';
import { packageJson } from './package-json.ts';
import type { Project } from './project.ts';
import { template } from './template.ts';

/** A file to write whole. */
export interface Change {
  readonly path: string;
  readonly text: string;
  /** For the person. */
  readonly what: string;
}

export interface Plan {
  readonly changes: readonly Change[];
  /** Files that are there and differ. */
  readonly left: readonly string[];
}

/** What is missing in the project. Decides only: nothing is written. */
export function plan(project: Project, { spec, force }: { spec: () => string; force: boolean }): Plan {
  const wanted = [...jobs(project, force), ...app(project)].filter(({ path, text }) => project.text(path) !== text);
  const isMissing = ({ path }: Change) => project.text(path) === undefined;
  const added = [packageJson(project, spec), gitignore(project)].filter((change) => change !== undefined);
  return {
    changes: [...added, ...wanted.filter((file) => force || isMissing(file))],
    left: force ? [] : wanted.filter((file) => !isMissing(file)).map(({ path }) => path),
  };
}

/** Whoever has contracts and processors has begun: what differs from ours then is their work. */
function jobs({ runner, text }: Project, force: boolean): Change[] {
  const [contracts, processors] = ['jobs/contracts.ts', 'jobs/processors.ts'].map(text);
  if (!force && contracts !== undefined && processors !== undefined) return [];
  // Jest takes what it finds for its own, and cannot load ES modules.
  const test = runner === 'jest' ? 'jobs/processors.node-test.ts' : 'jobs/processors.test.ts';
  return [
    { path: 'jobs/contracts.ts', text: template('jobs/contracts.ts'), what: 'what each kind of job takes' },
    { path: 'jobs/processors.ts', text: template('jobs/processors.ts'), what: 'the code of each kind' },
    {
      path: test,
      text: template(runner === 'vitest' ? 'jobs/tested-by-vitest.ts' : 'jobs/tested-by-node.ts'),
      what: 'runs a job of yours, without a database',
    },
  ];
}

/** Only where there is no CDK app: another's is not touched. */
function app({ hasCdkApp, text }: Project): Change[] {
  if (hasCdkApp) return [];
  const ours = template('bin/app.ts');
  const path = [undefined, ours].includes(text('bin/app.ts')) ? 'bin/app.ts' : 'cdk/app.ts';
  const settings = {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022'],
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  };
  const tsconfig = { compilerOptions: settings, include: [path.split('/')[0], 'jobs'] };
  return [
    { path, text: ours, what: 'a CDK app with the queue in it' },
    { path: 'cdk.json', text: json({ app: `tsx ${path}` }), what: 'what cdk runs' },
    { path: 'tsconfig.json', text: json(tsconfig), what: 'settings of the compiler' },
  ];
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
