import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { assemble, type SamAssembly } from '../../local/sam/assembly.ts';
import { samApp } from '../../local/sam/template.ts';
import { readStacks } from '../../local/template.ts';
import { adoptApp } from '../local/project.ts';
import { pythonTool } from '../support/python-tool.ts';

const run = promisify(execFile);

let project: string;
let directory: string;
let sam: SamAssembly;
// biome-ignore lint/suspicious/noExplicitAny: whatever the template holds; a test that reads what is not there fails
let resources: Record<string, any>;
let variables: Record<string, Record<string, string>>;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'millrace-sam-'));
  directory = join(project, '.millrace', 'sam');
  await adoptApp(project);
  sam = await assemble(project, directory);
  resources = JSON.parse(await readFile(sam.template, 'utf8')).Resources;
  variables = JSON.parse(await readFile(sam.environment, 'utf8'));
}, 120_000);
afterAll(() => rm(project, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

const functions = () => Object.entries(resources).filter(([, { Type }]) => Type === 'AWS::Lambda::Function');
const idOf = (name: string) => Object.keys(resources).find((id) => id.startsWith(`Jobs${name}`)) as string;
const bundleOf = (id: string) => join(directory, resources[id].Metadata['aws:asset:path']);

test('each function has its bundle, runs on this machine’s processor, and names every variable that it is given', () => {
  expect(functions().length).toBeGreaterThanOrEqual(12);
  for (const [id, { Properties }] of functions()) {
    expect(existsSync(join(bundleOf(id), 'index.mjs')), id).toBe(true);
    expect(Properties.Architectures).toEqual([process.arch === 'arm64' ? 'arm64' : 'x86_64']);
    expect(Object.keys(Properties.Environment.Variables)).toEqual(Object.keys(variables[id] ?? {}));
  }
});

test('the password is in the environment file alone, which others cannot read', async () => {
  const { password } = sam.files;
  expect(variables[idOf('Enqueue')]?.DATABASE_URL).toBe(`postgres://millrace:${password}@postgres:5432/millrace`);
  expect(await readFile(sam.template, 'utf8')).not.toContain(password);
  expect((await stat(sam.environment)).mode & 0o077).toBe(0);
});

test('what uses the database has its certificates, what looks at tokens has those, and nothing is asked of the cloud', async () => {
  for (const [id] of functions()) {
    const { DATABASE_URL, DATABASE_CA_FILE, TOKENS_FILE } = variables[id] ?? {};
    expect(DATABASE_CA_FILE === undefined).toBe(DATABASE_URL === undefined);
    for (const file of [DATABASE_CA_FILE, TOKENS_FILE]) {
      if (file !== undefined) expect(existsSync(join(bundleOf(id), file)), `${id} ${file}`).toBe(true);
    }
    expect(Object.keys(variables[id] ?? {}).filter((name) => /_ARN$|^WAKE_|^WORKER_SECRETS$/.test(name))).toEqual([]);
  }
  expect(variables[idOf('Authorize')]).toHaveProperty('TOKENS_FILE');
  expect(variables[idOf('Enqueue')]).not.toHaveProperty('TOKENS_FILE');
  expect(variables[idOf('Health')]).not.toHaveProperty('DATABASE_URL');
  const own = await readFile(
    join(bundleOf(idOf('Enqueue')), variables[idOf('Enqueue')]?.DATABASE_CA_FILE ?? ''),
    'utf8',
  );
  expect(own).toBe(await readFile(sam.files.ca, 'utf8'));
});

test('the worker and the reaper tick, with what their schedules give them', () => {
  expect(sam.schedules).toContainEqual({ id: idOf('Work'), everySeconds: 60, event: '{"slot":0}' });
  expect(sam.schedules.map(({ id }) => id)).toContain(idOf('Reap'));
});

test('docs/sam.md lists what is kept', async () => {
  const text = await readFile(new URL('../../docs/sam.md', import.meta.url), 'utf8');
  const listed = [...text.matchAll(/^\| `([a-z][\w.-]*)\/?`/gm)].map(([, name]) => name);
  // The events are written when the ticks begin.
  expect(listed.filter((name) => name !== 'event-0.json').toSorted()).toEqual((await readdir(directory)).toSorted());
});

test('secrets of processors come from the shell', async () => {
  const [stack] = await readStacks(join(directory, 'cdk.out'));
  const work = stack?.resources.get(idOf('Work'))?.Properties.Environment as { Variables: Record<string, unknown> };
  work.Variables.WORKER_SECRETS = { 'Fn::Join': ['', ['{"STRIPE_KEY":"', { Ref: 'Secret' }, '","OTHER":"x"}']] };
  vi.stubEnv('STRIPE_KEY', 'sk_test');
  const app = samApp(stack === undefined ? [] : [stack], { directory, database: {}, authorizer: {} });
  expect(app.variables[idOf('Work')]).toMatchObject({ STRIPE_KEY: 'sk_test' });
  expect(app.variables[idOf('Work')]).not.toHaveProperty('OTHER');
  expect(app.variables[idOf('Work')]).not.toHaveProperty('WORKER_SECRETS');
});

/** SAM's own reading of it. */
describe('the SAM CLI', async () => {
  const cli = await pythonTool('aws-sam-cli==1.170.0', 'sam').catch((error: Error) => {
    console.warn(`\nSKIPPED: the SAM CLI cannot be installed here, its template is not validated: ${error.message}\n`);
    return undefined;
  });
  const env = { ...process.env, SAM_CLI_TELEMETRY: '0', AWS_DEFAULT_REGION: 'us-east-1' };

  test.skipIf(cli === undefined)(
    'takes the template, and its linter finds nothing',
    async () => {
      const { stdout, stderr } = await run(cli as string, ['validate', '--lint', '--template', sam.template], { env });
      expect(`${stdout}${stderr}`).toMatch(/is a valid SAM Template$/m);
    },
    120_000,
  );

  test.skipIf(cli === undefined)(
    'finds every function, every route and who is asked before each',
    async () => {
      const python = join(cli as string, '..', process.platform === 'win32' ? 'python.exe' : 'python');
      const { stdout } = await run(python, ['-c', READ, sam.template], { env });
      const read = JSON.parse(stdout.trim().split('\n').at(-1) as string);
      expect(read.functions.toSorted()).toEqual(
        functions()
          .map(([id]) => [id, 'nodejs24.x', true])
          .toSorted(),
      );
      const routes = Object.values(resources).filter(({ Type }) => Type === 'AWS::ApiGatewayV2::Route');
      expect(read.routes).toHaveLength(routes.length);
      for (const [, path, , guarded] of read.routes) expect(guarded, path).toBe(path !== '/health');
      expect(read.routes).toContainEqual([['POST'], '/jobs', idOf('Enqueue'), true]);
    },
    120_000,
  );
});

const READ = `
import json, os, sys
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.api_provider import ApiProvider
template = sys.argv[1]
stacks, _ = SamLocalStackProvider.get_stacks(template)
here = os.path.dirname(template)
functions = [[f.name, f.runtime, os.path.exists(os.path.join(here, f.codeuri, 'index.mjs'))] for f in SamFunctionProvider(stacks).get_all()]
routes = [[sorted(r.methods), r.path, r.function_name, r.authorizer_name is not None] for r in ApiProvider(stacks, disable_authorizer=False).api.routes]
print(json.dumps({'functions': functions, 'routes': routes}))
`;
