import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openClient } from '../support/database.ts';
import { expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';

const blocks = blocksOf('docs/roles.md');

test('docs/roles.md: a login with one grant, its timeouts, and what is left to an administrator', async ({ own }) => {
  const app = `app_${randomBytes(6).toString('hex')}`;
  const block = (name: string) => blockNamed(blocks, name).replaceAll(/\bapp\b/g, app);
  const db = own.pool;
  try {
    await db.query('CREATE TABLE shipments (n int)');
    const answers: Record<string, unknown> = {};
    for (const { name } of blocks) answers[name] = (await db.query(block(name))).rows;
    expect(Object.keys(answers)).toEqual(['app', 'tables', 'timeouts', 'longer', 'todo', 'later']);
    expect(answers.todo).toEqual([]);

    const { rows } = await db.query(`SELECT has_table_privilege('millrace_worker', 'shipments', 'UPDATE') AS may`);
    expect(rows).toEqual([{ may: true }]);

    const url = new URL(own.url);
    url.username = app;
    url.password = 'change me';
    const client = await openClient(url.href);
    try {
      await client.query(`SELECT millrace.enqueue('test.kind', '{}')`);
      expect((await client.query('SHOW statement_timeout')).rows).toEqual([{ statement_timeout: '2min' }]);
      expect((await client.query('SHOW idle_session_timeout')).rows).toEqual([{ idle_session_timeout: '5min' }]);
    } finally {
      await client.end();
    }
  } finally {
    await db.query(`DROP OWNED BY ${app}`);
    await db.query(`DROP ROLE ${app}`);
  }
});

test('docs/roles.md names every role, and every timeout as the database has it', async ({ db }) => {
  const table = await readFile(join(root, 'docs/roles.md'), 'utf8');
  const cellsOf = (name: string) => {
    const line = table.split('\n').find((one) => one.startsWith(`| \`${name}\``));
    return line?.split('|').map((cell) => cell.trim());
  };
  const { rows: roles } = await db.query<{ role: string }>('SELECT unnest(millrace.role_names()) AS role');
  expect(roles).toHaveLength(5);
  for (const { role } of roles) expect(cellsOf(role), role).toBeDefined();

  const { rows } = await db.query<{ setting: string; values: string[] }>(
    `SELECT w.setting, ARRAY[w.value, p.value, o.value] AS values
     FROM millrace.timeouts_of('millrace_worker') w
     JOIN millrace.timeouts_of('millrace_reaper') p USING (setting)
     JOIN millrace.timeouts_of('millrace_reader') o USING (setting)
     WHERE w.setting NOT LIKE 'tcp_keepalives_%'`,
  );
  expect(rows).toHaveLength(5);
  for (const { setting, values } of rows) {
    const inWords = values.map((value) => value.replace(/(\d)(min|s)$/, (_, n, unit) => `${n} ${WORDS[unit]}`));
    expect(cellsOf(setting)?.slice(2, 5), setting).toEqual(inWords);
  }
});

const WORDS: Readonly<Record<string, string>> = { min: 'minutes', s: 's' };
