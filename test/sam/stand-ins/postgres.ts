/** The container: what compose.yaml makes of the image, with the embedded Postgres. Ends on SIGTERM, or with its folder. */
import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../../../local/postgres.ts';

const [home = '', given = ''] = process.argv.slice(2);
const directory = join(home, 'volume');
const port = Number(process.env.MILLRACE_SAM_POSTGRES_PORT);
const pidFile = join(home, 'postgres.pid');

if (!existsSync(directory)) await setUp();
// Away from the data, as in the container: the key belongs to Postgres alone.
const own = join(directory, 'millrace');
const { uid, gid } = await stat(join(directory, 'data'));
await mkdir(own, { recursive: true });
await chown(own, uid, gid);
for (const name of ['server.crt', 'server.key', 'pg_hba.conf']) {
  await copyFile(join(given, name), join(own, name));
  await chown(join(own, name), uid, gid);
  await chmod(join(own, name), 0o600);
}
const server = await startPostgres({
  directory,
  port,
  settings: {
    fsync: 'off',
    ssl: 'on',
    ssl_cert_file: join(own, 'server.crt'),
    ssl_key_file: join(own, 'server.key'),
    hba_file: join(own, 'pg_hba.conf'),
  },
});
await writeFile(pidFile, String(process.pid));
process.on('SIGTERM', stop);
setInterval(() => existsSync(home) || stop(), 500);

async function stop(): Promise<void> {
  await server.stop();
  await rm(pidFile, { force: true });
  process.exit(0);
}

/** What the image does with a new volume. */
async function setUp(): Promise<void> {
  const first = await startPostgres({ directory, settings: { fsync: 'off' } });
  const client = new pg.Client({ connectionString: first.url });
  await client.connect();
  await client.query(`CREATE ROLE millrace SUPERUSER LOGIN PASSWORD '${process.env.MILLRACE_SAM_PASSWORD}'`);
  await client.query('CREATE DATABASE millrace OWNER millrace');
  await client.end();
  await first.stop();
}
