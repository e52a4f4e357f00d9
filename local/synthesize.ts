import { spawn } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import * as z from 'zod';
import { REGION } from './lambda-names.ts';
import { StartError } from './start-error.ts';
import { reasonOf } from './synth-failure.ts';

const CdkJson = z.looseObject({ app: z.string().min(1), context: z.record(z.string(), z.unknown()).default({}) });

/** Which CDK app. */
export interface AppOptions {
  /** Its command. Default: the one in `cdk.json`. */
  readonly command?: string | undefined;
  /** What it is called when it fails. Default: the CDK app with its command. */
  readonly title?: string | undefined;
  /** On top of the context in `cdk.json`. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a CDK app as the CDK CLI would, from `projectDirectory` into `outDirectory` (emptied first), with the asset paths
 * written into the template. No credentials, no look-ups, no Docker.
 * @throws StartError `synth_failed` with what the app said, or `not_writable`
 */
export async function synthesize(
  projectDirectory: string,
  outDirectory: string,
  { command, title, context, signal }: AppOptions = {},
): Promise<void> {
  const project = await readCdkJson(projectDirectory, command);
  await emptied(outDirectory);
  const { code, output } = await run(
    project.app,
    projectDirectory,
    {
      // Stacks that say where they go, as `cdk init` writes them, get an account in place of the one that is logged in.
      CDK_DEFAULT_ACCOUNT: process.env.CDK_DEFAULT_ACCOUNT || '000000000000',
      CDK_DEFAULT_REGION: process.env.CDK_DEFAULT_REGION || process.env.AWS_REGION || REGION,
      CDK_OUTDIR: outDirectory,
      // CDK's own check of the template takes 3 of 5 s of CPU, and guards deploys: cdk synth still makes it.
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({
        ...project.context,
        ...context,
        'aws:cdk:enable-asset-metadata': true,
        'aws:cdk:enable-path-metadata': true,
        // Native modules of the processors are those of this machine, not of Lambda's.
        'millrace:host': true,
      }),
      PATH: [...binFolders(projectDirectory), process.env.PATH].join(delimiter),
    },
    signal,
  );
  if (code !== 0) {
    throw new StartError(
      'synth_failed',
      `${title ?? `The CDK app "${project.app}"`} failed (${code}): ${reasonOf(output, projectDirectory)}`,
    );
  }
}

/** As npx has them: also those of the folders above, where a workspace has its packages. */
function binFolders(directory: string): string[] {
  const own = join(directory, 'node_modules', '.bin');
  return dirname(directory) === directory ? [own] : [own, ...binFolders(dirname(directory))];
}

async function emptied(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
    await mkdir(directory, { recursive: true });
  } catch (cause) {
    throw new StartError(
      'not_writable',
      `The folder ${directory} cannot be made anew (${(cause as Error).message}): make it writable, or remove it.`,
      { cause },
    );
  }
}

async function readCdkJson(directory: string, command: string | undefined): Promise<z.output<typeof CdkJson>> {
  const file = join(directory, 'cdk.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined && command === undefined) {
    throw new StartError(
      'synth_failed',
      `There is no ${file}: start in the folder of the CDK app that defines the queue, or give its command ` +
        '(--app "node bin/app.js"), or the modules of a queue that has no app yet (--contracts jobs/contracts.ts --processors jobs/processors.ts).',
    );
  }
  try {
    const looked = await readFile(join(directory, 'cdk.context.json'), 'utf8').catch(() => '{}');
    const project = text === undefined ? {} : JSON.parse(text);
    const { app, context } = CdkJson.parse({ ...project, ...(command !== undefined && { app: command }) });
    return { app, context: { ...JSON.parse(looked), ...context } };
  } catch (cause) {
    throw new StartError('synth_failed', `${file} is no JSON object with an "app" command: mend it.`, { cause });
  }
}

function run(command: string, cwd: string, env: Record<string, string>, signal?: AbortSignal) {
  return new Promise<{ code: number | string; output: string }>((resolve, reject) => {
    // A group of its own: a Ctrl-C at the terminal is ours to answer, and the whole of it ends together.
    const child = spawn(command, {
      cwd,
      shell: true,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-20_000);
      });
    }
    const end = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
    signal?.addEventListener('abort', end, { once: true });
    child.once('error', reject);
    child.once('close', (code, killedBy) => {
      signal?.removeEventListener('abort', end);
      resolve({ code: code ?? killedBy ?? 'no exit code', output });
    });
  });
}
