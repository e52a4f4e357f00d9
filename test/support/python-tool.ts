import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const WINDOWS = process.platform === 'win32';

/**
 * Path of a command out of a Python package, installed once for each version into a folder that git ignores: half a minute
 * the first time.
 * @param requirement `cfn-lint==1.52.1`
 * @throws Error if there is no python3 here, or pip cannot install it
 */
export async function pythonTool(requirement: string, command: string): Promise<string> {
  const folder = fileURLToPath(new URL(`../../.millrace/python-${requirement.replace('==', '-')}`, import.meta.url));
  const bin = join(folder, WINDOWS ? 'Scripts' : 'bin');
  const installed = join(bin, WINDOWS ? `${command}.exe` : command);
  if (existsSync(installed)) return installed;
  await run(WINDOWS ? 'python' : 'python3', ['-m', 'venv', folder]);
  await run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', requirement]);
  return installed;
}
