import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { inject, onTestFinished, vi } from 'vitest';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { CANARY } from '../../functions/queue/canary.ts';
import { openPosition } from '../../functions/queue/marks.ts';
import { createDatabase, openClient } from '../support/database.ts';
import { describe, expect } from '../support/fixtures.ts';
import { test } from '../support/logins.ts';
import { examined } from './doctor-ground.ts';
import { startCli } from './run-cli.ts';

const soon = { deadlineSeconds: 1 };

describe('with a database alone, the doctor', () => {
  test('finds that no worker comes, and leaves no canary behind', async ({ own: { url, pool } }) => {
    const { of, bad, code } = await examined({ databaseUrl: url }, soon);
    expect([bad, code]).toEqual([[...(await always(pool)), 'tick', 'canary default'], 1]);
    expect(of.url).toEqual({ verdict: 'skipped', found: 'takes --url' });
    expect(of.tick?.found).toBe('no worker has ever been there');
    expect(of['canary default']).toEqual({
      verdict: 'failed',
      found: 'no worker has picked it up within 1 s; it is cancelled',
      remedy: expect.any(String),
      see: 'docs/runbook.md#no-tick',
    });
    const { rows } = await pool.query('SELECT kind, status, max_attempts FROM millrace.jobs');
    expect(rows).toEqual([{ kind: CANARY, status: 'cancelled', max_attempts: 1 }]);
  });

  test('takes its canary back when it is stopped', async ({ own: { url, pool } }) => {
    const { child, ended, stderr } = startCli(['doctor', '--queue', 'nobodys'], { env: { DATABASE_URL: url } });
    await vi.waitFor(async () => expect((await pool.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(1), 15_000);
    child.kill('SIGINT');
    expect([await ended, stderr()]).toEqual([130, expect.stringMatching(/failed, \d+ skipped\n$/)]);
    expect((await pool.query('SELECT queue, status FROM millrace.jobs')).rows).toEqual([
      { queue: 'nobodys', status: 'cancelled' },
    ]);
  });

  test('finds a schema that is behind, another that was altered, and none', async ({ own }) => {
    await own.pool.query(`UPDATE millrace.migrations SET checksum = 'another' WHERE version = 3`);
    const altered = await examined({ databaseUrl: own.url }, soon);
    expect(altered.of.schema?.found).toBe('migrations differ: 0003_partitions.sql');

    const old = await createDatabase(inject('serverUrl'));
    onTestFinished(() => old.drop());
    const none = await examined({ databaseUrl: old.url }, soon);
    expect(none.bad).toEqual(['schema']);
    expect(none.of.lag).toEqual({ verdict: 'skipped', found: 'takes the schema of this release' });

    await migrateButOne(old.url);
    const behind = await examined({ databaseUrl: old.url }, soon);
    expect(behind.of.schema).toMatchObject({
      verdict: 'failed',
      found: expect.stringMatching(/^version (\d+), and this/),
    });
    expect(behind.code).toBe(1);
  });

  test('says what a login is and what it may not find out', async ({ own, loginAs }) => {
    await openPosition(own.pool, 'default', new Map([['a', 30]]));
    await own.pool.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '3 minutes'`);
    const reader = await examined({ databaseUrl: (await loginAs('reader')).url }, soon);
    expect([reader.bad, reader.code]).toEqual([[...(await always(own.pool)), 'tick'], 1]);
    expect(reader.of.tick?.found).toBe('a worker was there 3 min ago');
    expect(reader.of.roles?.found).toBe('all five are there; this login is millrace_reader');
    expect(reader.of['canary default']).toMatchObject({
      verdict: 'skipped',
      found: expect.stringContaining('producer'),
    });
    const nobody = await examined({ databaseUrl: (await loginAs()).url }, soon);
    expect([nobody.bad, nobody.code]).toEqual([[], 0]);
    expect(nobody.of.roles?.found).toBe('all five are there; this login is none of them');
    expect(nobody.of.lag).toMatchObject({ verdict: 'skipped', found: expect.stringContaining('millrace_reader') });

    await own.pool.query('REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA millrace FROM millrace_worker');
    const { of } = await examined({ databaseUrl: own.url }, soon);
    expect(of.roles).toMatchObject({ verdict: 'failed', found: 'millrace_worker may not do what it is there for' });
  });

  test('tells a password that is wrong from a server that is not there, and shows neither', async ({
    own: { url },
  }) => {
    const wrong = new URL(url);
    wrong.password = 'hunter2';
    const refused = await examined({ databaseUrl: wrong.href }, soon);
    expect([refused.bad, refused.code]).toEqual([['database'], 4]);
    expect(refused.of.database?.found).toContain('password authentication failed');
    expect(refused.text).not.toContain('hunter2');
    expect(refused.of.clock).toEqual({ verdict: 'skipped', found: 'takes a database that answers' });

    wrong.port = '1';
    const nobody = await examined({ databaseUrl: wrong.href }, soon);
    expect([nobody.bad, nobody.code]).toEqual([['database'], 4]);
    expect(nobody.of.database?.found).toContain('ECONNREFUSED');
  });
});

/** What is wrong with the server of the tests: it vacuums nothing by itself, unless it is one that was given. */
async function always(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query('SHOW autovacuum');
  return rows[0].autovacuum === 'on' ? [] : ['autovacuum'];
}

/** As the release before this one would. */
async function migrateButOne(url: string): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'millrace-doctor-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const files = (await readdir(migrationsDirectory())).filter((name) => name.endsWith('.sql')).sort();
  for (const file of files.slice(0, -1)) await cp(new URL(file, migrationsDirectory()), join(directory, file));
  const client = await openClient(url);
  await migrate(client, { directory }).finally(() => client.end());
}
