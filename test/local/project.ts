import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { inject, onTestFinished } from 'vitest';
import { ROLES, type Role } from '../../functions/lambda/role.ts';
import { synthesize } from '../../local/synthesize.ts';
import { TOKENS_FILE } from '../../local/tokens-file.ts';
import { createToken } from '../support/tokens.ts';
import { inTurn } from '../support/turn.ts';
import { temporaryDirectory } from './bundle.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** What the worker of the project does: listens for the drain and says what happens. */
export const DRAINS = `export const handler = (event) => new Promise((resolve) => {
  process.once('SIGTERM', () => { console.log('drained'); resolve({}); });
  setInterval(() => {}, 1000);
  console.log(JSON.stringify({ level: 'INFO', message: 'worker started', slot: event.slot })); });`;

export const IGNORES = `export const handler = () => new Promise(() => { process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('deaf'); });`;

/** A CDK app of its own whose synthesis is a copy: one HTTP function that echoes, one worker. */
export async function projectOf(worker = DRAINS): Promise<string> {
  const directory = await temporaryDirectory();
  const assembly = join(directory, 'assembly');
  const bundles = {
    'asset.echo': 'export const handler = async (event) => ({ path: event.rawPath });',
    'asset.work': worker,
  };
  for (const [name, source] of Object.entries(bundles)) {
    await mkdir(join(assembly, name), { recursive: true });
    await writeFile(join(assembly, name, 'index.mjs'), source);
  }
  const fn = (name: string, asset: string) => ({
    Type: 'AWS::Lambda::Function',
    Properties: { Handler: 'index.handler', Timeout: 60 },
    Metadata: { 'aws:cdk:path': `Stack/${name}/Resource`, 'aws:asset:path': asset },
  });
  const arn = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
  const Resources = {
    Echo: fn('Echo', 'asset.echo'),
    Work: fn('Work', 'asset.work'),
    I: { Type: 'AWS::ApiGatewayV2::Integration', Properties: { IntegrationUri: arn('Echo') } },
    R: {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: { RouteKey: '$default', Target: { 'Fn::Join': ['', ['integrations/', { Ref: 'I' }]] } },
    },
    S: {
      Type: 'AWS::Scheduler::Schedule',
      Properties: { ScheduleExpression: 'rate(1 minute)', Target: { Arn: arn('Work'), Input: '{"slot":0}' } },
    },
  };
  await writeFile(join(assembly, 'Stack.template.json'), JSON.stringify({ Resources }));
  const artifacts = {
    Stack: { type: 'aws:cloudformation:stack', properties: { templateFile: 'Stack.template.json' } },
  };
  await writeFile(join(assembly, 'manifest.json'), JSON.stringify({ artifacts }));
  await writeFile(join(directory, 'cdk.json'), JSON.stringify({ app: 'cp -R assembly/. "$CDK_OUTDIR"' }));
  return directory;
}

/** Makes of a folder a project whose app is that of this repository. It takes seconds, so it is synthesized once for all. */
export async function adoptApp(directory: string): Promise<void> {
  const assembly = join(inject('sharedDirectory'), 'cdk.out');
  await inTurn(`${assembly}.lock`, async () => {
    if (!existsSync(join(assembly, 'manifest.json'))) await synthesize(root, assembly);
  });
  await writeFile(join(directory, 'cdk.json'), JSON.stringify({ app: `cp -R "${assembly}/." "$CDK_OUTDIR"` }));
}

/** A token of each role, as `npm run token` makes them for the runtime of that folder. */
export async function tokensIn(directory: string): Promise<Record<Role, string>> {
  const file = join(directory, '.millrace', TOKENS_FILE);
  const made: [Role, string][] = [];
  for (const role of ROLES) made.push([role, await createToken(file, { name: `a-${role}`, role, days: 1 })]);
  return Object.fromEntries(made) as Record<Role, string>;
}

export interface Started {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
  /** The URL of its ready line. */
  readonly ready: Promise<string>;
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals | null>;
}

/** `npm start` in that folder, until the test is over. */
export function startIn(directory: string, env: Record<string, string> = {}): Started {
  const { stop, ...started } = launch(directory, env);
  onTestFinished(stop);
  return started;
}

/** `npm start` in that folder, until it is stopped; with `args`, `npx millrace dev` with these. */
export function launch(
  directory: string,
  env: Record<string, string> = {},
  args?: readonly string[],
): Started & { readonly stop: () => Promise<void> } {
  const command = args === undefined ? ['bin/local.ts'] : ['bin/millrace.ts', 'dev', ...args];
  const child = spawn(process.execPath, [join(root, command[0] ?? ''), ...command.slice(1)], {
    cwd: directory,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const started = heard(child);
  const stop = async () => {
    child.kill('SIGTERM');
    child.kill('SIGTERM');
    await started.exited;
  };
  return { ...started, stop };
}

/** What a program says that ends its start with a ready line. */
export function heard(child: ChildProcessByStdio<null, Readable, Readable>): Started {
  let output = '';
  let errors = '';
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    const url = /^millrace ready (\S+)$/m.exec(output)?.[1];
    if (url) resolve(url);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const exited = new Promise<number | NodeJS.Signals | null>((done) =>
    child.once('close', (code, signal) => done(code ?? signal)),
  );
  void exited.then((code) => reject(new Error(`ended with ${code}: ${errors}${output}`)));
  ready.catch(() => {});
  return { child, output: () => output, errors: () => errors, ready, exited };
}

export interface Info {
  readonly databaseUrl: string;
  readonly url: string;
  readonly pid: number;
  readonly workers: readonly number[];
}

export async function infoOf(directory: string): Promise<Info | undefined> {
  const file = join(directory, '.millrace', 'runtime.json');
  return existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : undefined;
}
