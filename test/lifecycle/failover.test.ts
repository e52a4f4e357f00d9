import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { pendingJob, rowOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { connectTo, recorder, runOn, until } from './ground.ts';

const kind = 'test.kind';
const contracts = { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 20 }) };

test('no connection is free for a while: it waits without haste, and gets one', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const events = recorder();
  let refusals = 0;
  const summary = await runOn(databaseUrl, {
    contracts,
    processors: { [kind]: () => 'done' },
    emit: events.emit,
    connect: async () => {
      if (refusals++ < 4) throw Object.assign(new Error('too many clients'), { code: '53300', severity: 'FATAL' });
      return connectTo(databaseUrl)();
    },
  });
  expect(summary).toMatchObject({ completed: 1 });
  expect(events.named('database.failed').map(({ code }) => code)).toEqual(Array(4).fill('53300'));
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1 });
});

test('the server turns into a read-only standby while a job runs: its result is kept until there is a primary', async ({
  db,
  databaseUrl,
}) => {
  const job = await pendingJob(db);
  const events = recorder();
  const gate = Promise.withResolvers<string>();
  const running = runOn(databaseUrl, {
    contracts,
    processors: { [kind]: () => gate.promise },
    emit: events.emit,
  });
  await until(() => events.named('job.claimed').length === 1);
  const database = new URL(databaseUrl).pathname.slice(1);
  try {
    await db.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    await db.query(
      `SELECT pg_terminate_backend(pid)
       FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'millrace-test'`,
    );
    gate.resolve('done');
    await until(() => events.named('database.failed').some(({ code }) => code === '25006'));
    await sleep(300);
  } finally {
    // The pool's own connections are from before: they may still write.
    await db.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
  }
  expect(await running).toMatchObject({ claimed: 1, completed: 1, unsettled: 0 });
  expect(events.named('database.failed').length).toBeLessThan(20);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 1, result: 'done' });
});
