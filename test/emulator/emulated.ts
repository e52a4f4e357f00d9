import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import type { LocalFunction } from '../../local/function.ts';
import { isOpen } from '../../local/is-open.ts';
import { freePort } from '../../local/postgres/server.ts';
import { until } from '../lifecycle/ground.ts';
import type { EmulatorTools } from './tools.ts';

/** A function that waits for invocations; each test has its own, and they stay warm between its calls. */
export interface Emulated {
  /** What the emulator answers: what the function returned, or how it failed. */
  invoke(event: unknown): Promise<{ readonly status: number; readonly text: string }>;
  /** All that it and the emulator have written. */
  readonly said: () => string;
}

/** Starts the function of a bundle under the emulator, on loopback, until the test is over. */
export async function emulated({ emulator, client }: EmulatorTools, fn: LocalFunction): Promise<Emulated> {
  const [port, runtimePort] = [await freePort(), await freePort()];
  const addresses = [
    ...['--runtime-interface-emulator-address', `127.0.0.1:${port}`],
    ...['--runtime-api-address', `127.0.0.1:${runtimePort}`],
  ];
  const child = spawn(emulator, [...addresses, process.execPath, client, fn.handler], {
    cwd: fn.directory,
    env: {
      ...fn.environment,
      AWS_LAMBDA_FUNCTION_TIMEOUT: String(fn.timeoutSeconds),
      // So it says nothing of its own about credentials.
      AWS_ACCESS_KEY_ID: 'none',
      AWS_SECRET_ACCESS_KEY: 'none',
      AWS_SESSION_TOKEN: 'none',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // With the runtime that it starts.
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const ended = once(child, 'close');
  onTestFinished(async () => {
    process.kill(-(child.pid as number), 'SIGKILL');
    await ended;
  });
  await until(() => isOpen(port));
  return {
    said: () => said,
    invoke: async (event) => {
      const url = `http://127.0.0.1:${port}/2015-03-31/functions/function/invocations`;
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(event) });
      return { status: response.status, text: await response.text() };
    },
  };
}
