import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, writeFiles } from '../../lib/bundles/build.ts';
import { SDK, sdkFiles } from '../../lib/bundles/sdk.ts';
import type { LocalFunction } from '../../local/function.ts';
import { ThreadSandbox } from '../../local/sandbox-thread.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The repository's handlers as bundles, each started as often as wanted in a sandbox of its own. */
export interface Bundled {
  /**
   * A sandbox as Lambda makes one: with its own copy of the module, loaded at the first invocation.
   * @param environment what it has beyond Lambda's own variables
   */
  start(handler: string, environment: Readonly<Record<string, string>>): ThreadSandbox;
  /** Every line that one of them has written. */
  readonly lines: readonly string[];
  close(): Promise<void>;
}

export async function bundled(handlers: readonly string[]): Promise<Bundled> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-bundled-'));
  const files = build({
    entryPoints: Object.fromEntries(
      handlers.map((name) => [`${name}/index`, join(root, `functions/${name}/handler.ts`)]),
    ),
    alias: {
      '#contracts': join(root, 'functions/jobs/contracts.ts'),
      '#processors': join(root, 'functions/jobs/processors.ts'),
    },
    external: ['pg-native', SDK],
  });
  writeFiles(directory, files);
  for (const name of handlers) writeFiles(join(directory, name), sdkFiles(['secrets-manager', 'rds-signer']));
  if (handlers.includes('migrate')) {
    await cp(join(root, 'migrations'), join(directory, 'migrate/migrations'), { recursive: true });
  }
  const lines: string[] = [];
  const started: ThreadSandbox[] = [];
  return {
    lines,
    start(handler, environment) {
      const fn: LocalFunction = {
        name: handler,
        directory: join(directory, handler),
        handler: 'index.handler',
        timeoutSeconds: 60,
        memoryMegabytes: 512,
        environment: { AWS_LAMBDA_FUNCTION_NAME: handler, LOG_LEVEL: 'debug', ...environment },
      };
      const sandbox = new ThreadSandbox(fn, (_, line) => lines.push(line));
      started.push(sandbox);
      return sandbox;
    },
    close: async () => {
      await Promise.all(started.map((sandbox) => sandbox.close()));
      await rm(directory, { recursive: true });
    },
  };
}
