import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Go takes a version of this form for a commit that has none: of 30 October 2026. */
const EMULATOR = 'v0.0.0-20261030222936-bef5c4ba774d';
const CLIENT = '4.0.2';

/** What runs a bundle as Lambda's own image for Node does. */
export interface EmulatorTools {
  /** AWS's runtime interface emulator: takes invocations by HTTP, and keeps the time. */
  readonly emulator: string;
  /** AWS's runtime interface client for Node: asks for invocations and calls the handler. */
  readonly client: string;
}

/**
 * Builds both, once for each version: the emulator with Go in 10 s, the client with make, CMake, autoconf, automake and libtool
 * in a minute. Neither comes with npm ci, which has to work without those.
 * @throws Error that says what is missing on this machine
 */
export async function emulatorTools(): Promise<EmulatorTools> {
  const folder = fileURLToPath(new URL(`../../.millrace/emulator-${EMULATOR.slice(-12)}-${CLIENT}/`, import.meta.url));
  await mkdir(folder, { recursive: true });
  const emulator = join(folder, 'aws-lambda-rie');
  if (!existsSync(emulator)) {
    const module = 'github.com/aws/aws-lambda-runtime-interface-emulator/cmd/aws-lambda-rie';
    await run('go', ['install', `${module}@${EMULATOR}`], { env: { ...process.env, GOBIN: folder } });
  }
  const client = join(folder, 'node_modules/aws-lambda-ric/index.mjs');
  // Written last, by its build.
  if (!existsSync(join(client, '../rapid-client.node'))) {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    await run('npm', ['install', '--no-save', '--foreground-scripts', `aws-lambda-ric@${CLIENT}`], { cwd: folder });
  }
  return { emulator, client };
}
