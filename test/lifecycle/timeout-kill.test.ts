import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reap } from '../../functions/queue/reap.ts';
import { build, writeFiles } from '../../lib/bundles/build.ts';
import { SDK } from '../../lib/bundles/sdk.ts';
import { startProcess } from '../../local/sandbox-process.ts';
import { functionOf } from '../local/bundle.ts';
import { rowOf } from '../support/factories.ts';
import { test as base, expect, inject } from '../support/fixtures.ts';
import { deedJobs } from './deeds.ts';
import { closeGate } from './gate.ts';
import { runOn } from './ground.ts';
import { deed, timePasses } from './process.ts';
import { startProxy } from './proxy.ts';

const test = base.skipIf(inject('postgresMajor') === 15 || inject('pooled'));

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Seconds. The shortest in which a run still begins a job that may take one second. */
const TIMEOUT_SECONDS = 8;

test('the timeout kills a worker in the middle of commits: each job completes, and its effect happens once', async ({
  own: { pool: db, url },
  onTestFinished,
}) => {
  await db.query('CREATE TABLE public.effects (job uuid)');
  const proxy = await startProxy(url);
  onTestFinished(() => proxy.close());
  const worker = await startSandbox(proxy.url);
  onTestFinished(() => worker.kill());

  const answered = proxy.swallowAnswerTo('COMMIT');
  const unheard = await deed(db, { do: 'effect' });
  await answered;
  // Where a COMMIT waits within the server: for what is put off to the end of a transaction.
  const gate = await closeGate(db, 'AFTER INSERT ON public.effects DEFERRABLE INITIALLY DEFERRED');
  const within = await deed(db, { do: 'effect' });
  await gate.reached();
  const held = proxy.holdStatement('COMMIT');
  const never = await deed(db, { do: 'effect' });
  await held;
  // One of the neighbours takes the event loop with it: nothing but the kill ends this run now.
  const blocker = await deed(db, { do: 'block' }, { maxAttempts: 1 });
  expect(await worker.ended).toEqual({ kind: 'timed out' });
  await gate.open();

  await timePasses(db, () => reap(db, { limit: 100 }));
  expect(await runOn(url, deedJobs())).toMatchObject({ claimed: 1, completed: 1 });
  // Committed before the kill, after it, and rolled back by the end of its connection.
  expect(await rowOf(db, unheard)).toMatchObject({ status: 'completed', attempts: 1, reaps: 0 });
  expect(await rowOf(db, within)).toMatchObject({ status: 'completed', attempts: 1, reaps: 0 });
  expect(await rowOf(db, never)).toMatchObject({ status: 'completed', attempts: 2, reaps: 1 });
  expect(await rowOf(db, blocker)).toMatchObject({ status: 'dead', attempts: 1 });
  const { rows } = await db.query('SELECT job FROM public.effects');
  expect(rows.map(({ job }) => job).sort()).toEqual([unheard, within, never].sort());
});

/** The worker's bundle around the jobs of these tests, in a sandbox of the local runtime: its timeout is a real kill. */
async function startSandbox(databaseUrl: string) {
  const fn = await functionOf('', { timeoutSeconds: TIMEOUT_SECONDS, memoryMegabytes: 256 });
  const files = build({
    entryPoints: { index: join(root, 'functions/work/handler.ts') },
    alias: {
      '#contracts': join(root, 'test/lifecycle/short-deeds.ts'),
      '#processors': join(root, 'test/lifecycle/short-deeds.ts'),
    },
    external: ['pg-native', SDK],
    nodePaths: [join(root, 'node_modules')],
  });
  writeFiles(fn.directory, files);
  const environment = { ...fn.environment, DATABASE_URL: databaseUrl, WORKER_TRANSACTIONS: '3', LOG_LEVEL: 'info' };
  return startProcess({ ...fn, environment }, { slot: 0 }, () => {});
}
