import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { judgeClock } from '../../cli/doctor/checks/sql.ts';
import { judge } from '../../cli/doctor/checks/strangers.ts';
import { checksFor } from '../../cli/doctor/checks.ts';
import { LIMITS } from '../../cli/doctor/limits.ts';
import { SCHEMA_VERSION } from '../../functions/lambda/schema-version.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import { pause, resume } from '../../functions/queue/pause.ts';
import { upkeep } from '../../functions/queue/upkeep.ts';
import { startRelay } from '../client/relay.ts';
import { json, serve } from '../client/server.ts';
import { blockNamed, blocksOf, root } from '../docs/blocks.ts';
import { deadJob } from '../support/factories.ts';
import { describe, expect, openClient, openPool } from '../support/fixtures.ts';
import { layWide } from '../support/partitions.ts';
import { examined, test } from './doctor-ground.ts';
import { runCli } from './run-cli.ts';

const run = promisify(execFile);

// Under the time of a hook, which is longer than that of a test.
test.beforeAll(({ healthy }) => void healthy, 60_000);

describe('where all is well', () => {
  test('every check is made and says so', async ({ healthy: { url, tokens, databaseUrl } }) => {
    const env = { MILLRACE_URL: url, MILLRACE_TOKEN: tokens.operator, DATABASE_URL: databaseUrl };
    const { code, stdout, stderr } = await runCli(['doctor', '--canaries', '2'], { env });
    const lines = stdout.trimEnd().split('\n');
    expect(stdout).toMatch(/^(ok .*\n)+$/);
    expect(lines.map((line) => line.slice(9).split('  ')[0])).toEqual(checksFor(['default']).map(({ id }) => id));
    expect(lines.at(-1)).toMatch(/2 picked up after .*median; at most .*back after/);
    expect(stderr).toBe('22 ok, 0 warnings, 0 failed, 0 skipped\n');
    expect(code).toBe(0);
    expect(stdout).not.toContain(tokens.operator);
    expect(stdout).not.toContain(new URL(databaseUrl).password);
  });

  test('without options it is about what runs in the folder; --json is one document', async ({ healthy }) => {
    const env = { MILLRACE_TOKEN: healthy.tokens.reader };
    const { code, stdout, stderr } = await runCli(['doctor', '--json'], { env, cwd: healthy.directory });
    const { healthy: isHealthy, checks } = JSON.parse(stdout);
    expect([code, isHealthy, stderr]).toEqual([0, true, '']);
    expect(checks[0]).toEqual({ id: 'url', verdict: 'ok', found: expect.stringContaining(healthy.url) });
    expect(checks.at(-1)).toMatchObject({ id: 'canary default', verdict: 'ok' });
  });

  test('each role is told, and what is kept from it is skipped', async ({ healthy: { url, tokens } }) => {
    const as = async (token?: string) => (await examined({ url, ...(token && { token }) })).of;
    const { token, metrics, ready, 'canary default': canary } = await as(tokens.producer);
    expect(token?.found).toBe('producer: it may put jobs in, and not see their content, operate');
    expect(metrics).toEqual({ verdict: 'skipped', found: 'takes a token of the role reader or operator' });
    expect([ready?.verdict, canary?.verdict]).toEqual(['ok', 'ok']);
    const reader = await as(tokens.reader);
    expect(reader.token?.found).toBe('reader: it may see their content, and not put jobs in, operate');
    expect(reader['canary default']).toMatchObject({ verdict: 'skipped', found: expect.stringContaining('producer') });
    const nobody = await as();
    expect(nobody.token).toEqual({ verdict: 'skipped', found: 'takes MILLRACE_TOKEN' });
    expect([nobody.health?.verdict, nobody.ready?.verdict]).toEqual(['ok', 'skipped']);
  });

  test('a release from before the canary is no failure, and is said to be old', async ({ healthy }) => {
    const relay = await startRelay(healthy.url, (text) => text.replace('millrace.canary', 'millrace.unheard-of'));
    onTestFinished(() => relay.close());
    const { of, bad, code } = await examined({ url: relay.url, token: healthy.tokens.producer });
    expect(of['canary default']?.found).toContain('of an older release');
    expect([bad, code]).toEqual([['canary default'], 0]);
  });
});

describe('what is wrong is found, in', () => {
  test('a token that is not known', async ({ healthy: { url } }) => {
    const token = `mlr_${'x'.repeat(43)}`;
    const { of, bad, code, text } = await examined({ url, token });
    expect([bad, code, of.token?.found]).toEqual([['token'], 4, 'the token is refused']);
    expect(text).not.toContain(token);
  });

  test('a queue that is paused', async ({ healthy: { url, tokens, databaseUrl } }) => {
    const pool = poolOn(databaseUrl);
    await pause(pool, 'queue', 'default');
    const { of, bad, code } = await examined({ url, token: tokens.operator });
    await resume(pool, 'queue', 'default');
    expect([bad, code]).toEqual([['paused', 'canary default'], 1]);
    expect(of.paused?.found).toBe('paused: queue default');
  });

  test('a queue and a kind that no worker has, and jobs that die', async ({
    healthy: { url, tokens, databaseUrl },
  }) => {
    const pool = poolOn(databaseUrl);
    await insertJob(pool, { kind: 'old.kind', payload: 1 });
    await pool.query(`UPDATE millrace.live_jobs SET run_at = now() - interval '11 minutes'`);
    await deadJob(pool, { kind: 'hello.greet' });
    const { of, bad, code } = await examined(
      { url, token: tokens.operator },
      { queues: ['default', 'mispelt'], deadlineSeconds: 1 },
    );
    await pool.query('DELETE FROM millrace.live_jobs');
    await pool.query('DELETE FROM millrace.dead_jobs');
    expect([bad, code]).toEqual([['lag', 'unclaimed', 'dead', 'canary mispelt'], 1]);
    expect(of.unclaimed?.found).toContain('no worker has the kinds old.kind');
    expect(of.lag?.found).toBe('the oldest due job has waited for 11 min');
    expect(of.dead?.found).toBe('1 job died within the last hour: hello.greet');
    expect(of['canary mispelt']?.found).toBe('no worker has picked it up within 1 s; it is cancelled');
  });

  test('a database that nobody looks after', async ({ healthy: { url, tokens, databaseUrl } }) => {
    const pool = poolOn(databaseUrl);
    await pool.query('ALTER TABLE millrace.dead_jobs SET (autovacuum_enabled = off)');
    await layWide(pool, 'payloads');
    const others = await Promise.all(Array.from({ length: 80 }, () => openClient(databaseUrl)));
    const pinning = others[0] as (typeof others)[0];
    await pinning.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await pinning.query('SELECT count(*) FROM millrace.live_jobs');
    for (const _ of [1, 2, 3]) await pool.query('SELECT pg_current_xact_id()');
    const { of, bad, code } = await examined({ url, token: tokens.reader }, { limits: { ...LIMITS, xminAge: 3 } });
    await Promise.all(others.map((client) => client.end()));
    await pool.query('ALTER TABLE millrace.dead_jobs RESET (autovacuum_enabled)');
    await upkeep(pool, { keepDays: 7, aheadDays: 3 });
    expect([bad, code]).toEqual([['connections', 'autovacuum', 'snapshot', 'partitions'], 1]);
    expect(of.connections?.found).toMatch(/^8\d of 100 in use/);
    expect(of.autovacuum?.found).toBe('it is switched off for dead_jobs');
    expect(of.partitions?.found).toBe('a partition a day for 0 more days');
  });

  test('an address where something else is, which is not shown the token', async () => {
    const server = await serve(json(404, {}));
    const { of, bad, code } = await examined({ url: server.url, token: 'mlr_secret' });
    expect([bad, code, of.health?.found]).toEqual([['health'], 1, 'GET /health answers 404']);
    expect(of.strangers).toEqual({ verdict: 'skipped', found: 'takes an API that answers' });
    expect(server.seen.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test('an address where somebody says yes to everything: it is not believed, and not read to its end', async () => {
    const { of, bad, code, text } = await examined({ url: (await serve(json(200, { status: 'ok' }))).url });
    expect([bad, code]).toEqual([['ready', 'metrics', 'dead'], 1]);
    expect(of.ready?.found).toBe('GET /ready answers 200 with what is no state of a queue');
    expect(of['canary default']?.verdict).toBe('skipped');
    expect(text).not.toMatch(/NaN|undefined|fault of the doctor/);
    const flood = await serve((response) => {
      const more = () => void (response.write('x'.repeat(1e6)) ? setImmediate(more) : response.once('drain', more));
      more();
    });
    expect((await examined({ url: flood.url })).of.health?.found).toContain('answers with more than 8 MiB');
  });

  test('an address that never answers; Ctrl-C does not wait for it', async () => {
    const stop = new AbortController();
    const silent = await serve(() => stop.abort(new Error('stopped')));
    const { of } = await examined({ url: silent.url }, { signal: stop.signal });
    expect(of.health?.found).toMatch(/has no answer: \S+: stopped$/);
  });

  test('an address where nothing is', async () => {
    const { bad, code, of } = await examined({ url: 'http://127.0.0.1:1', token: 'mlr_secret' });
    expect([bad, code]).toEqual([['health'], 4]);
    expect(of.health?.found).toBe('GET /health has no answer: 127.0.0.1:1: nothing listens there');
  });

  test.for([
    ['http://api.example.com', 'it is not https'],
    ['https://me:hunter2@127.0.0.1', 'it holds credentials'],
    ['ftp://127.0.0.1', 'it begins with ftp:'],
    ['127.0.0.1', 'this is no URL'],
  ] as const)('%s: %s', async ([url, flaw]) => {
    const { of, bad, code, text } = await examined({ url, token: 'mlr_secret' });
    expect([bad, code]).toEqual([['url'], 1]);
    expect(of.url?.found).toContain(flaw);
    expect(text).not.toMatch(/hunter2|mlr_secret/);
  });

  test('a schema that is older than the API', async ({ healthy: { url, tokens, databaseUrl } }) => {
    const pool = poolOn(databaseUrl);
    const { rows } = await pool.query('DELETE FROM millrace.migrations WHERE version = $1 RETURNING *', [
      SCHEMA_VERSION,
    ]);
    const { of, bad, code } = await examined({ url, token: tokens.operator });
    const [{ file, checksum }] = rows;
    await pool.query('INSERT INTO millrace.migrations VALUES ($1, $2, $3)', [SCHEMA_VERSION, file, checksum]);
    expect([bad, code]).toEqual([['ready'], 1]);
    expect(of.ready?.found).toBe('GET /ready answers 503 schema-outdated');
    expect(of.schema).toEqual({ verdict: 'skipped', found: 'takes 200 of GET /ready' });
  });

  test('clocks that differ, which harms nobody', () => {
    const of = (aheadMs: number) => judgeClock(aheadMs, 'its', 60);
    expect(of(-1500)).toEqual({ verdict: 'ok', found: 'its clock and the one here agree' });
    expect(of(30_000)).toEqual({ verdict: 'ok', found: 'its clock is 30 s ahead of the one here' });
    expect(of(-3_600_000)).toMatchObject({ verdict: 'warning', found: 'its clock is 60 min behind the one here' });
  });

  test('an API that lets strangers in', () => {
    const of = (without: number, unknown: number, isHere = false) =>
      judge({ status: without }, { status: unknown }, isHere).verdict;
    expect([of(401, 403), of(200, 200), of(200, 403), of(401, 404), of(500, 500), of(200, 200, true)]).toEqual([
      'ok',
      'failed',
      'failed',
      'failed',
      'failed',
      'ok',
    ]);
  });
});

function poolOn(url: string) {
  const pool = openPool(url, 2);
  onTestFinished(() => pool.end());
  return pool;
}

describe('docs/doctor.md', () => {
  const blocks = blocksOf('docs/doctor.md');

  test('shows what is run here, and what comes of it', async ({ healthy: { directory, url, tokens } }) => {
    expect(blocks.map(({ language, name }) => `${language} ${name}`)).toEqual(['sh api', 'text output', 'sh json']);
    await writeFile(join(directory, 'operator-token'), tokens.operator);
    const set = blockNamed(blocks, 'api').replace('http://127.0.0.1:3000', url);
    const shell = async (script: string) => {
      const command = script.replaceAll('npx millrace', `"${process.execPath}" "${join(root, 'bin/millrace.ts')}"`);
      return (await run('bash', ['-euo', 'pipefail', '-c', command], { cwd: directory })).stdout;
    };
    expect(outline(await shell(set))).toBe(outline(blockNamed(blocks, 'output')));
    const only = set.replace(/^npx.*\n/m, '');
    expect(JSON.parse(await shell(only + blockNamed(blocks, 'json')))).toMatchObject({ healthy: true });
  });

  test('has a heading for each check, and all that a finding refers to is there', () => {
    const ids = checksFor(['default']).map(({ id }) => id.replace(/ .*/, ''));
    expect(headingsOf('docs/doctor.md')).toEqual(expect.arrayContaining(ids));
    const sources = globSync('cli/doctor/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'));
    const references = [...new Set(sources.join().match(/docs\/[a-z]+\.md#[a-z-]+/g))];
    expect(references.length).toBeGreaterThan(10);
    for (const reference of references) {
      const [file = '', heading] = reference.split('#');
      expect(headingsOf(file), reference).toContain(heading);
    }
  });

  /** As their links have them. */
  function headingsOf(file: string): string[] {
    const text = readFileSync(join(root, file), 'utf8');
    return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading.toLowerCase().replaceAll(' ', '-'));
  }

  /** Without what differs from run to run. */
  function outline(text: string): string {
    return text
      .replace(/[\d.]+ (ms|s|min)\b/g, '…')
      .replace(/\d+(\.\d+)*/g, '0')
      .replace(/kinds?$/m, 'kinds');
  }
});
