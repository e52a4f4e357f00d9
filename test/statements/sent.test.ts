import * as z from 'zod';
import { migrationsDirectory } from '../../functions/migrate/directory.ts';
import { migrate } from '../../functions/migrate/runner.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { PermanentError } from '../../functions/queue/errors.ts';
import type { RunOptions } from '../../functions/queue/run-options.ts';
import { schedule } from '../../functions/queue/schedule.ts';
import { context, test as withCall } from '../functions/api.ts';
import { recorder, runOn, until } from '../lifecycle/ground.ts';
import { createDatabase } from '../support/database.ts';
import { deadJob, pendingJob, processingJob } from '../support/factories.ts';
import { expect, inject, openClient, vi } from '../support/fixtures.ts';
import { listenIn, type Wire } from '../support/wire.ts';
import { stateOf } from './session-state.ts';
import { writtenIn } from './written.ts';

const test = withCall.extend('wire', async ({ directUrl }, { onCleanup }) => {
  const wire = await listenIn(directUrl);
  onCleanup(() => wire.close());
  return wire;
});

/** Each statement that a source has as a text, as a pattern: constants may stand where a template says so. */
const written = writtenIn('functions').map(({ text }) => {
  const parts = text.split(/\$\{[^}]*\}/).map((part) => part.replace(/\\([\\`'])/g, '$1'));
  return new RegExp(`^${parts.map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('[^]*')}$`);
});

/** Nothing that was sent has a name or leaves anything behind, and all of it stands in the source, where it was looked at. */
function expectClean({ sent }: Wire, least: number): void {
  const texts = [...new Set(sent.map(({ text }) => text))];
  expect(texts.length).toBeGreaterThanOrEqual(least);
  expect(sent.filter(({ name }) => name !== '')).toEqual([]);
  expect(texts.filter((text) => stateOf(text).length > 0)).toEqual([]);
  expect(texts.filter((text) => !written.some((pattern) => pattern.test(text)))).toEqual([]);
}

test('by a run: jobs of every end, a transaction, progress, a job that lasts, a schedule, a slot', async ({
  db,
  wire,
}) => {
  const payload = z.looseObject({});
  const contracts = {
    'test.done': defineJob({ payload }),
    'test.failed': defineJob({ payload, onDead: 'test.done' }),
    'test.again': defineJob({ payload }),
    'test.effect': defineJob({ payload }),
    'test.long': defineJob({ payload }),
    'test.recurring': defineJob({ payload }),
  };
  const watched = Promise.withResolvers<void>();
  const processors: RunOptions<typeof contracts>['processors'] = {
    'test.done': () => 'done',
    'test.failed': () => Promise.reject(new PermanentError('never')),
    'test.again': () => Promise.reject(new Error('not yet')),
    'test.effect': (_, ctx) => ctx.transaction(async () => 'done'),
    'test.long': async (_, ctx) => {
      ctx.progress(0.5);
      await watched.promise;
    },
    'test.recurring': () => 'done',
  };
  for (const kind of Object.keys(contracts)) await pendingJob(db, { kind });
  // One that crashed twice is suspect, and has a way of its own.
  await pendingJob(db, { kind: 'test.done', reaps: 2 });
  const events = recorder();
  const over = new AbortController();
  const running = runOn(wire.url, {
    contracts,
    processors,
    schedules: [schedule({ name: 'each-second', every: '1s', kind: 'test.recurring', payload: {} })],
    slot: { worker: 'test', slot: 0, woken: false },
    lingerSeconds: Infinity,
    signal: over.signal,
    emit: events.emit,
  });
  await until(() => wire.sent.some(({ text }) => text.includes('unnest($1::uuid[], $2::uuid[]) s(id, token)')));
  watched.resolve();
  await until(() => wire.sent.some(({ text }) => text.includes('millrace.fire')));
  await until(() => events.named('job.completed').length >= 6);
  over.abort();
  await running;
  expectClean(wire, 12);
});

test('by the functions of the API and the reaper', async ({ call, db, wire }) => {
  process.env.DATABASE_URL = wire.url;
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const job = { kind: 'hello.greet', payload: { name: 'Ada' } };
  const { id } = (await call('POST', '/jobs', { body: job })).body;
  const dead = (await deadJob(db, { kind: job.kind })).id;
  await processingJob(db, { kind: job.kind, leaseExpiredSecondsAgo: 60 });
  for (const [method, target, body] of [
    ['POST', '/jobs/batch', { jobs: [job, { ...job, idempotency_key: 'i', unique_key: 'u' }] }],
    ['GET', '/jobs?status=dead&counts=true'],
    ['GET', `/jobs/${id}?include=payload,result`],
    ['GET', `/jobs/${id}?wait=1`],
    ['POST', `/jobs/${id}/cancel`],
    ['POST', `/jobs/${dead}/redrive`],
    ['POST', '/jobs/redrive', { kind: job.kind }],
    ['DELETE', `/jobs/${id}`],
    ['POST', '/queues/default/pause'],
    ['POST', '/queues/default/resume'],
    ['GET', '/ready?include=database'],
    ['GET', '/metrics'],
  ] as const) {
    expect((await call(method, target, body && { body })).status, `${method} ${target}`).toBeLessThan(500);
  }
  const { handler } = await import('../../functions/reap/handler.ts');
  expect(await handler({}, context(60_000))).toMatchObject({ reaped: 1 });
  expectClean(wire, 15);
});

test('by migrations', async ({ onTestFinished }) => {
  const empty = await createDatabase(inject('serverUrl'));
  const wire = await listenIn(empty.directUrl);
  const client = await openClient(wire.url);
  onTestFinished(async () => {
    await client.end();
    await wire.close();
    await empty.drop();
  });
  await migrate(client, { directory: migrationsDirectory() });
  const texts = wire.sent.map(({ text }) => text);
  expect(texts.length).toBeGreaterThan(12);
  expect(wire.sent.filter(({ name }) => name !== '')).toEqual([]);
  expect(texts.filter((text) => stateOf(text).length > 0)).toEqual([]);
});
