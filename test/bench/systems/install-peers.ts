import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PEERS = new URL('../peers/', import.meta.url);

/** Installs what Millrace is measured beside, unless what the lock names is there. */
export async function installPeers(): Promise<void> {
  const locked = await stat(new URL('package-lock.json', PEERS));
  // npm writes it at the end of an installation.
  const installed = await stat(new URL('node_modules/.package-lock.json', PEERS)).catch(() => undefined);
  if (installed && installed.mtimeMs >= locked.mtimeMs) return;
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', args, { cwd: fileURLToPath(PEERS), shell: process.platform === 'win32' });
}
