import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, describe, onTestFinished } from 'vitest';
import { installed } from '../consumer/orms/install.ts';
import { expect, test } from '../functions/api.ts';
import { blockNamed, blocksOf, root } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';

const run = promisify(execFile);

test.for([
  ['sqs', []],
  ['pg-boss', ['sql move']],
  ['graphile-worker', ['sql move']],
  ['cron', ['sql pg_cron', 'sh crontab']],
] as const)('docs/moving/%s.md shows files as they are, and what is executed', async ([page, others]) => {
  expect(await otherBlocksOf(`docs/moving/${page}.md`)).toEqual(others);
});

describe('what forwards', () => {
  test('from SQS: a message that comes twice is one job, and one that is refused goes back', async ({ db, call }) => {
    process.env.MILLRACE_URL = await served(call);
    const { handler } = await import('../../examples/moving/from-sqs.ts');
    const Records = [
      { messageId: 'a', body: '{"name": "Ada"}' },
      { messageId: 'b', body: '{"nobody": true}' },
      { messageId: 'c', body: 'not JSON' },
    ];
    const failed = { batchItemFailures: [{ itemIdentifier: 'b' }, { itemIdentifier: 'c' }] };
    expect(await handler({ Records })).toEqual(failed);
    expect(await handler({ Records })).toEqual(failed);
    expect((await db.query('SELECT payload FROM millrace.jobs')).rows).toEqual([{ payload: { name: 'Ada' } }]);
  });

  test('from a schedule: one job for each time, however often it fires', async ({ db, call }) => {
    process.env.MILLRACE_URL = await served(call);
    const { handler } = await import('../../examples/moving/scheduled.ts');
    for (const time of ['2026-11-30T06:00:00Z', '2026-11-30T06:00:00Z', '2026-12-01T06:00:00Z'])
      await handler({ time });
    expect((await db.query('SELECT kind FROM millrace.jobs')).rows).toHaveLength(2);
  });

  test('from pg_cron: one job for a minute, and none beside one that runs', async ({ db }) => {
    const fire = blockNamed(blocksOf('docs/moving/cron.md'), 'pg_cron');
    for (const _ of [1, 2]) await db.query(fire);
    await db.query(fire.replace('now()', "now() + interval '1 minute'"));
    expect((await db.query('SELECT kind FROM millrace.jobs')).rows).toEqual([{ kind: 'hello.greet' }]);
  });
});

test('a line of a crontab: one job for a day', { timeout: 60_000 }, async ({ db, databaseUrl }) => {
  const line = blockNamed(blocksOf('docs/moving/cron.md'), 'crontab').replace('npx', `node ${root}bin/millrace.ts`);
  const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl };
  for (const _ of [1, 2]) await run('bash', ['-euo', 'pipefail', '-c', line.replace('.ts millrace', '.ts')], { env });
  const { rows } = await db.query('SELECT kind, payload FROM millrace.jobs');
  expect(rows).toEqual([{ kind: 'hello.greet', payload: { name: 'Ada' } }]);
});

describe('what waits is moved within one transaction', () => {
  let modules: string;
  beforeAll(async () => {
    modules = await installed();
  }, 300_000);

  const move = (page: string) => blockNamed(blocksOf(`docs/moving/${page}.md`), 'move');
  const waiting = `SELECT j.kind, j.payload, j.priority, j.max_attempts, l.unique_key, j.run_at > now() + interval '23 hours' AS later
                   FROM millrace.jobs j JOIN millrace.live_jobs l USING (id)`;
  const ada = {
    kind: 'email.send',
    payload: { to: 'ada@example.org' },
    max_attempts: 7,
    unique_key: 'ada',
    later: true,
  };

  test('out of graphile-worker', async ({ own }) => {
    const { makeWorkerUtils } = await import(join(modules, 'graphile-worker/dist/index.js'));
    const utils = await makeWorkerUtils({ connectionString: own.url });
    await utils.migrate();
    const later = { runAt: new Date(Date.now() + 86_400_000), priority: 3, maxAttempts: 7, jobKey: 'ada' };
    await utils.addJob('send_email', { to: 'ada@example.org' }, later);
    await utils.addJob('send_email', { to: 'running@example.org' });
    await utils.addJob('other_task', {});
    await own.pool.query(`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'w' WHERE key IS NULL
                          AND task_id = (SELECT id FROM graphile_worker._private_tasks WHERE identifier = 'send_email')`);
    await utils.release();
    await own.pool.query(move('graphile-worker'));
    // There a lower priority is the more urgent one.
    expect((await own.pool.query(waiting)).rows).toEqual([{ ...ada, priority: -3 }]);
    const { rows } = await own.pool.query(
      'SELECT task_identifier, locked_by FROM graphile_worker.jobs ORDER BY task_identifier',
    );
    expect(rows).toEqual([
      { task_identifier: 'other_task', locked_by: null },
      { task_identifier: 'send_email', locked_by: 'w' },
    ]);
  });

  test('out of pg-boss', async ({ own }) => {
    const { PgBoss } = await import(join(modules, 'pg-boss/dist/index.js'));
    const boss = new PgBoss({ connectionString: own.url, supervise: false, schedule: false });
    boss.on('error', () => {});
    await boss.start();
    for (const queue of ['send-email', 'other']) await boss.createQueue(queue);
    await boss.send('send-email', { to: 'running@example.org' });
    await boss.fetch('send-email');
    const options = { startAfter: 86_400, priority: 3, retryLimit: 6, singletonKey: 'ada' };
    await boss.send('send-email', { to: 'ada@example.org' }, options);
    await boss.send('other', {});
    await boss.stop({ graceful: false });
    await own.pool.query(move('pg-boss'));
    expect((await own.pool.query(waiting)).rows).toEqual([{ ...ada, priority: 3 }]);
    const { rows } = await own.pool.query('SELECT name, state FROM pgboss.job ORDER BY name');
    expect(rows).toEqual([
      { name: 'other', state: 'created' },
      { name: 'send-email', state: 'active' },
    ]);
  });
});

/** The API of the handlers, on a port: as the functions see it. */
async function served(call: (method: string, target: string, request: object) => Promise<unknown>): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const answer = (await call(request.method as string, request.url as string, {
      body,
      headers: request.headers as Record<string, string>,
    })) as { status: number; headers: Record<string, string>; text: string };
    response.writeHead(answer.status, answer.headers).end(answer.text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
