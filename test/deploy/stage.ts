import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxEnvironment } from '../../local/environment.ts';
import type { Ending, LocalFunction, ThrownError } from '../../local/function.ts';
import { type RunningProcess, startProcess } from '../../local/sandbox-process.ts';
import { synthesize } from '../../local/synthesize.ts';
import { ofType, readStacks, textOf } from '../../local/template.ts';
import { type Answer, answered, httpEvent } from '../functions/api.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A release as a deploy would upload it: the cloud assembly of this repository's app, its bundles included. */
export interface Release {
  readonly assembly: string;
  remove(): Promise<void>;
}

export async function synthesizedRelease(): Promise<Release> {
  const assembly = await mkdtemp(join(tmpdir(), 'millrace-release-'));
  await synthesize(root, assembly);
  return { assembly, remove: () => rm(assembly, { recursive: true, force: true }) };
}

/** The release that comes after: the same bundles, but for further files among the migrations. */
export async function nextRelease(
  { assembly }: Release,
  migrations: Readonly<Record<string, string>>,
): Promise<Release> {
  const copy = await mkdtemp(join(tmpdir(), 'millrace-release-'));
  const next = { assembly: copy, remove: () => rm(copy, { recursive: true, force: true }) };
  await cp(assembly, copy, { recursive: true });
  const { directory } = await functionOf(next, 'Migrate', '');
  for (const [file, sql] of Object.entries(migrations)) await writeFile(join(directory, 'migrations', file), sql);
  return next;
}

/**
 * What the functions find instead of the cloud: a database by its URL, or all that the template's variables point to, as
 * CloudFormation would fill it in.
 */
export type Surroundings = string | Cloud;
export interface Cloud {
  /** What a resource's `Ref` or attribute is. */
  known(id: string, attribute: string): string | undefined;
  /** What a function's role gives it: credentials, where AWS's services are. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A function of a release by its construct's name, such as `Enqueue`, as the template has it. */
export async function functionOf(
  { assembly }: Release,
  name: string,
  surroundings: Surroundings,
  over: Partial<LocalFunction> = {},
): Promise<LocalFunction> {
  for (const stack of await readStacks(assembly)) {
    for (const [, { Properties, Metadata }] of ofType(stack, 'AWS::Lambda::Function')) {
      if (!String(Metadata['aws:cdk:path']).endsWith(`/${name}/Resource`)) continue;
      const { Handler, Timeout, MemorySize, Environment } = Properties as unknown as FunctionProperties;
      const directory = join(stack.directory, String(Metadata['aws:asset:path']));
      const fn = { name, directory, memoryMegabytes: MemorySize };
      const environment = environmentOf(fn, Environment.Variables, surroundings);
      return { ...fn, handler: Handler, timeoutSeconds: Timeout, environment, ...over };
    }
  }
  throw new Error(`the release has no function ${name}`);
}

function environmentOf(
  fn: Pick<LocalFunction, 'name' | 'directory' | 'memoryMegabytes'>,
  variables: Readonly<Record<string, unknown>>,
  surroundings: Surroundings,
): Record<string, string> {
  // Jobs are put in before their worker starts.
  const shell = { WORKER_PICKUP: 'minute' };
  if (typeof surroundings === 'string') {
    return sandboxEnvironment({ ...fn, variables }, { DATABASE_URL: surroundings }, shell);
  }
  const filled = Object.entries(variables).map(([name, value]) => [name, textOf(value, surroundings.known)] as const);
  const unknown = filled.filter(([, value]) => value === undefined).map(([name]) => name);
  if (unknown.length > 0) throw new Error(`${fn.name}: nobody here knows ${unknown.join(', ')}`);
  return {
    ...sandboxEnvironment({ ...fn, variables: {} }, { DATABASE_URL: '' }, {}),
    ...(Object.fromEntries(filled) as Record<string, string>),
    ...surroundings.environment,
    ...('WORKER_PICKUP' in variables && shell),
  };
}

interface FunctionProperties {
  readonly Handler: string;
  readonly Timeout: number;
  readonly MemorySize: number;
  readonly Environment: { readonly Variables: Record<string, unknown> };
}

/** One cold invocation under way, in a process of its own that is killed at the function's timeout. */
export interface Invocation {
  readonly process: RunningProcess;
  readonly ended: Promise<Ending>;
  /** The messages that it has logged so far. */
  readonly said: readonly string[];
}

export function start(fn: LocalFunction, event: unknown = {}): Invocation {
  const said: string[] = [];
  const process = startProcess(fn, event, (_, line) => said.push(messageOf(line)));
  return { process, ended: process.ended, said };
}

function messageOf(line: string): string {
  try {
    return JSON.parse(line).message ?? line;
  } catch {
    return line;
  }
}

/** What an invocation returns. @throws Error that tells how it ended instead */
export async function returned<T>({ ended, said }: Invocation): Promise<T> {
  const ending = await ended;
  if (ending.kind === 'returned') return JSON.parse(ending.json);
  throw new Error(`${JSON.stringify(ending)}\n${said.join('\n')}`);
}

/** The error that fails a deploy. */
export async function thrown({ ended, said }: Invocation): Promise<ThrownError> {
  const ending = await ended;
  if (ending.kind === 'threw') return ending.error;
  throw new Error(`${JSON.stringify(ending)}\n${said.join('\n')}`);
}

/** A running deployment: the functions of a release, and what they find around them. */
export class Deployment {
  readonly #release: Release;
  readonly #surroundings: Surroundings;

  constructor(release: Release, surroundings: Surroundings) {
    this.#release = release;
    this.#surroundings = surroundings;
  }

  /** Starts a function cold. */
  async start(name: string, event: unknown = {}, over: Partial<LocalFunction> = {}): Promise<Invocation> {
    return start(await functionOf(this.#release, name, this.#surroundings, over), event);
  }

  async call<T>(name: string, event?: unknown): Promise<T> {
    return returned<T>(await this.start(name, event));
  }

  /** What the trigger of a deploy does. */
  migrate(): Promise<Migrated> {
    return this.call<Migrated>('Migrate');
  }

  /** One tick of a worker that leaves when nothing is due. */
  work(): Promise<{ readonly completed: number; readonly retried: number; readonly buried: number }> {
    return this.call('Work', { slot: 0 });
  }

  /** `POST /jobs/…/redrive`, by the function that the route has, with an operator's token. */
  async request(name: string, to: string, body?: object): Promise<Answer> {
    const [method = '', target = ''] = to.split(' ');
    return answered(await this.call(name, httpEvent(method, target, body === undefined ? {} : { body })));
  }
}

export interface Migrated {
  readonly applied: readonly string[];
  readonly version: number;
  readonly ahead: boolean;
}
