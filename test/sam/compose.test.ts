import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryDirectory } from '../local/bundle.ts';

const file = fileURLToPath(new URL('../../compose.yaml', import.meta.url));
const { name, services, volumes, networks } = parse(readFileSync(file, 'utf8'));
const { postgres } = services;

test('Postgres listens on loopback alone, with a password that nobody has written down here', () => {
  expect(Object.keys(services)).toEqual(['postgres']);
  expect(postgres.ports).toEqual([expect.stringMatching(/^127\.0\.0\.1:\$\{MILLRACE_SAM_POSTGRES_PORT:-5433\}:5432$/)]);
  expect(postgres.environment.POSTGRES_PASSWORD).toMatch(/^\$\{MILLRACE_SAM_PASSWORD:\?/);
  expect(postgres.environment.POSTGRES_INITDB_ARGS).toBe('--auth=scram-sha-256');
});

test('it is given the certificate and who may connect, and keeps its key to itself', () => {
  expect(postgres.volumes).toContain('./.millrace/sam/postgres:/given:ro');
  const [shell, flags, script, zero] = postgres.entrypoint;
  expect([shell, flags, zero]).toEqual(['sh', '-euc', 'entrypoint']);
  // `$$` is how compose writes a dollar.
  expect(script).toMatch(/exec docker-entrypoint\.sh "\$\$@"\s*$/);
  const copied = /install -o postgres -g postgres -m 0600 (.*) \/millrace$/m.exec(script)?.[1]?.split(' ');
  const settings = Object.fromEntries(
    postgres.command.filter((part: string) => part.includes('=')).map((part: string) => part.split('=')),
  );
  expect(postgres.command[0]).toBe('postgres');
  expect(settings.ssl).toBe('on');
  const used = [settings.ssl_cert_file, settings.ssl_key_file, settings.hba_file];
  expect(used.map((path) => path.replace('/millrace/', '/given/'))).toEqual(copied);
});

test('its entrypoint copies first, and then hands the command on to that of the image', async () => {
  const home = await temporaryDirectory();
  for (const name of ['install', 'docker-entrypoint.sh']) {
    await writeFile(join(home, name), `#!/bin/sh\necho ${name} "$@"\n`);
    await chmod(join(home, name), 0o755);
  }
  const [shell, ...args] = postgres.entrypoint.map((part: string) => part.replaceAll('$$', '$'));
  const said = execFileSync(shell, [...args, ...postgres.command], { env: { PATH: `${home}:/bin` }, encoding: 'utf8' });
  const [folder, files, command] = said.trim().split('\n');
  expect(folder).toBe('install -d -o postgres -g postgres -m 0700 /millrace');
  expect(files).toMatch(/^install -o postgres -g postgres -m 0600 .* \/millrace$/);
  expect(command).toBe(`docker-entrypoint.sh ${postgres.command.join(' ')}`);
});

test('what waits for it asks by TCP, since the server that sets up a new volume has none', () => {
  expect(postgres.healthcheck.test).toEqual(expect.arrayContaining(['pg_isready', '--host=127.0.0.1']));
});

test('names are those that npm run sam and its documentation use', () => {
  // The volume is millrace_data.
  expect([name, Object.keys(volumes), networks.default.name]).toEqual(['millrace', ['data'], 'millrace']);
  expect(postgres.image).toBe('postgres:18');
  // Where the image of Postgres 18 keeps its data.
  expect(postgres.volumes).toContain('data:/var/lib/postgresql');
});
