import { spawn } from 'node:child_process';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import * as z from 'zod';
import { StartError } from './start-error.ts';
import { reasonOf } from './synth-failure.ts';

const CdkJson = z.looseObject({ app: z.string().min(1), context: z.record(z.string(), z.unknown()).default({}) });

/**
 * Runs the CDK app that `cdk.json` in `projectDirectory` names, as the CDK CLI would, into `outDirectory` (emptied first),
 * with the asset paths written into the template. No credentials, no Docker.
 * @throws StartError `synth_failed` with what the app said, or `not_writable`
 */
export async function synthesize(projectDirectory: string, outDirectory: string, signal?: AbortSignal): Promise<void> {
  const { app, context } = await readCdkJson(projectDirectory);
  await emptied(outDirectory);
  const { code, output } = await run(
    app,
    projectDirectory,
    {
      CDK_OUTDIR: outDirectory,
      // CDK's own check of the template takes 3 of 5 s of CPU, and guards deploys: npm run synth still makes it.
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({
        ...context,
        'aws:cdk:enable-asset-metadata': true,
        'aws:cdk:enable-path-metadata': true,
        // Native modules of the processors are those of this machine, not of Lambda's.
        'millrace:host': true,
      }),
      PATH: [join(projectDirectory, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
    },
    signal,
  );
  if (code !== 0) {
    throw new StartError(
      'synth_failed',
      `The CDK app "${app}" failed (${code}): ${reasonOf(output, projectDirectory)}`,
    );
  }
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

async function readCdkJson(directory: string): Promise<z.output<typeof CdkJson>> {
  const file = join(directory, 'cdk.json');
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    throw new StartError(
      'synth_failed',
      `There is no ${file}: start in the folder of the CDK app that defines the queue.`,
    );
  }
  try {
    return CdkJson.parse(JSON.parse(text));
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
