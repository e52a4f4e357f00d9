/**
 * Stands in for `docker`: writes down how it is called, and for `docker compose up` runs the embedded Postgres as compose.yaml
 * says, with the files that the container would be given. STAND_IN is its folder; a file `docker-<word>-fails` in it makes
 * the call with that word fail, and the file `containers` holds the ids of those that SAM has started.
 */
import { spawn } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const home = process.env.STAND_IN as string;
const args = process.argv.slice(2);
const { MILLRACE_SAM_PASSWORD: password, MILLRACE_SAM_POSTGRES_PORT: port } = process.env;
await appendFile(join(home, 'calls'), `${JSON.stringify({ name: 'docker', args, password, port })}\n`);

const failing = args.find((word) => existsSync(join(home, `docker-${word}-fails`)));
if (failing !== undefined) {
  console.error(`docker: ${failing} does not work here`);
  process.exit(1);
}
if (args[0] === 'ps') console.log(await readFile(join(home, 'containers'), 'utf8').catch(() => ''));
if (args[0] === 'rm') await rm(join(home, 'containers'), { force: true });
if (args.includes('up')) await up(args[args.indexOf('--project-directory') + 1] as string);
if (args.includes('down')) await down();

async function up(project: string): Promise<void> {
  const log = openSync(join(home, 'postgres.log'), 'a');
  const server = spawn(
    process.execPath,
    [fileURLToPath(new URL('./postgres.ts', import.meta.url)), home, join(project, '.millrace/sam/postgres')],
    // Not our output: whoever started us waits until that is closed.
    { detached: true, stdio: ['ignore', log, log] },
  );
  const ended = new Promise((resolve) => server.once('exit', resolve));
  while (!existsSync(join(home, 'postgres.pid'))) {
    if ((await Promise.race([ended, sleep(50)])) !== undefined) process.exit(1);
  }
  process.exit(0);
}

async function down(): Promise<void> {
  const file = join(home, 'postgres.pid');
  const pid = Number(await readFile(file, 'utf8').catch(() => '0'));
  if (pid === 0) return;
  process.kill(pid, 'SIGTERM');
  while (existsSync(file)) await sleep(50);
  await rm(file, { force: true });
}
