import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../lifecycle/ground.ts';
import { pendingJob, rowOf } from '../support/factories.ts';
import { expect, test, vi } from '../support/fixtures.ts';
import { temporaryDirectory } from './bundle.ts';
import { infoOf, startIn } from './project.ts';

// The stack is synthesized first, which takes 5 s of a core that is idle.
vi.setConfig({ testTimeout: 120_000 });

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Says where it ran, and what it found in its environment at the top of the module. */
const PROCESSORS = `
const { STRIPE_KEY, SHOP, AWS_LAMBDA_FUNCTION_NAME } = process.env;
const answer = async () => ({ key: STRIPE_KEY, shop: SHOP, where: AWS_LAMBDA_FUNCTION_NAME });
export const processors = { 'hello.greet': answer, 'github.webhook': answer };`;

const APP = `
import { App } from '${root}node_modules/aws-cdk-lib/index.js';
import { Secret } from '${root}node_modules/aws-cdk-lib/aws-secretsmanager/index.js';
import { JobQueue } from '${root}lib/index.ts';
import { Stack } from '${root}node_modules/aws-cdk-lib/index.js';

const stack = new Stack(new App(), 'Shop');
new JobQueue(stack, 'Jobs', {
  projectRoot: '${root}',
  contracts: 'functions/jobs/contracts.ts',
  processors: 'PROCESSORS_FILE',
  pickup: 'instant',
  workers: { reports: { queues: ['reports'], max: 2 } },
  environment: { SHOP: 'Ada & Co' },
  secrets: { STRIPE_KEY: new Secret(stack, 'Stripe'), MAIL_KEY: new Secret(stack, 'Mail') },
});`;

/** A CDK app of its own, of two workers that are woken. */
async function project(): Promise<string> {
  const directory = await temporaryDirectory();
  const processors = join(directory, 'app', 'processors.mjs');
  await mkdir(join(directory, 'app'));
  await writeFile(processors, PROCESSORS);
  await writeFile(join(directory, 'app', 'app.ts'), APP.replace('PROCESSORS_FILE', processors));
  await writeFile(join(directory, 'cdk.json'), JSON.stringify({ app: `"${process.execPath}" app/app.ts` }));
  return directory;
}

test('workers that are woken: none is there, a job comes, and the one of its queue takes it', async ({
  db,
  databaseUrl,
}) => {
  const directory = await project();
  const env = { DATABASE_URL: databaseUrl, STRIPE_KEY: 'sk_test' };
  const { ready, output } = startIn(directory, env);
  const url = await ready;
  expect(output()).toContain('Secrets are not read here: processors and contracts find no MAIL_KEY, unless you set it');
  const idle = () => until(async () => (await infoOf(directory))?.workers.length === 0);
  const enqueue = async (queue: string): Promise<string> => {
    const body = JSON.stringify({ kind: 'hello.greet', payload: { name: 'Ada' }, queue });
    const answer = await fetch(`${url}/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { id: string }).id;
  };
  const done = (id: string) => until(async () => (await rowOf(db, id))?.status === 'completed');

  // Those of the first tick leave; the next one is a minute away.
  await idle();
  const began = performance.now();
  const unwoken = await pendingJob(db, { kind: 'hello.greet', payload: { name: 'Ada' }, queue: 'reports' });
  const greeting = await enqueue('default');
  await done(greeting);
  expect(await rowOf(db, greeting)).toMatchObject({
    result: { key: 'sk_test', shop: 'Ada & Co', where: expect.stringMatching(/^Shop-JobsWork(?!Reports)/) },
  });
  expect(await rowOf(db, unwoken.id), 'of a queue that nobody was woken for').toMatchObject({ status: 'pending' });
  const report = await enqueue('reports');
  await done(report);
  await done(unwoken.id);
  expect(await rowOf(db, report)).toMatchObject({
    result: { where: expect.stringMatching(/^Shop-JobsWorkReports/) },
  });
  // But for the first, if it took so long, these wake nobody: the worker that is there takes them.
  const wakes = async () => (await db.query('SELECT worker, woken_at FROM millrace.wakes ORDER BY worker')).rows;
  let before: unknown[] = [];
  for (let n = 0; n < 5; n++) {
    const soon = await enqueue('default');
    if (n === 0) before = await wakes();
    await new Promise((resolve) => setTimeout(resolve, 700));
    await done(soon);
  }
  expect(await wakes()).toEqual(before);
  expect(before).toMatchObject([
    { worker: expect.stringMatching(/^Shop-JobsWork(?!Reports)/) },
    { worker: expect.stringMatching(/^Shop-JobsWorkReports/) },
  ]);
  expect(performance.now() - began, 'before the tick').toBeLessThan(40_000);

  await idle();
  expect(output()).not.toMatch(/could not be woken|threw|ended by/);
  expect(output()).toMatch(/^\d\d:\d\d:\d\d WorkReports completed {2}hello\.greet/m);
});
