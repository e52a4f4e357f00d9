import { onTestFinished } from 'vitest';
import { contracts } from '#contracts';
import { createLog } from '../../functions/lambda/log.ts';
import { loggedEvents } from '../../functions/lambda/telemetry.ts';
import type { Context } from '../../functions/queue/context.ts';
import { handler as reaper } from '../../functions/reap/handler.ts';
import { context, expect, test } from '../functions/api.ts';
import { claimSome } from '../queue/claiming.ts';
import { expireLease, rowOf } from '../support/factories.ts';
import { vi } from '../support/fixtures.ts';
import { runOn } from './ground.ts';

const requestId = 'order-4711/checkout';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const KINDS = new Map([['hello.greet', 30]]);

/** What is logged from now on, line by line. */
function captured(): () => Record<string, unknown>[] {
  process.env.LOG_LEVEL = 'debug';
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  return () => write.mock.calls.map(([line]) => JSON.parse(String(line)));
}

/** A worker as the work handler makes it, with this as the processor. */
function work(url: string, greet: (ctx: Context) => unknown) {
  const log = createLog({ function: 'work', aws_request_id: 'invocation-1' });
  return runOn(url, {
    contracts: { 'hello.greet': contracts['hello.greet'] },
    processors: { 'hello.greet': (_, ctx) => greet(ctx) },
    emit: loggedEvents(log),
    log,
  });
}

test('one request id finds the request, the job, and each of its attempts', async ({ call, db, databaseUrl }) => {
  const lines = captured();
  const said = vi.fn();
  const failing = (ctx: Context) => {
    said(ctx.job.requestId, ctx.job.traceparent);
    ctx.log.info('greeting');
    throw new Error('boom');
  };
  const headers = { 'x-request-id': requestId, traceparent };
  const body = { kind: 'hello.greet', payload: { name: 'Ada' }, max_attempts: 3 };
  const { status, body: job } = await call('POST', '/jobs', { body, headers });
  expect(status).toBe(201);

  // Claims have seen what was due before.
  const dueNow = () => db.query('UPDATE millrace.live_jobs SET run_at = clock_timestamp()');

  // Retried, then reaped, then dead, then redriven by another request and completed.
  await work(databaseUrl, failing);
  await dueNow();
  await claimSome(db, { kinds: KINDS });
  await expireLease(db, job.id);
  await reaper({}, context(60_000));
  await dueNow();
  await work(databaseUrl, failing);
  const redrive = await call('POST', `/jobs/${job.id}/redrive`, { headers: { 'x-request-id': 'operator-1' } });
  expect(redrive.status).toBe(200);
  await work(databaseUrl, () => 'hello');

  const { rows } = await db.query('SELECT id, status FROM millrace.jobs WHERE request_id = $1', [requestId]);
  expect(rows).toEqual([{ id: job.id, status: 'completed' }]);
  expect(await rowOf(db, job.id)).toMatchObject({ request_id: requestId, traceparent, errors: [{}, {}, {}] });
  expect(said.mock.calls).toEqual([
    [requestId, traceparent],
    [requestId, traceparent],
  ]);

  const found = lines().filter((line) => line.request_id === requestId);
  expect(found.map(({ message, attempt, status }) => [message, attempt ?? status])).toEqual([
    ['request', 201],
    ['job.claimed', 1],
    ['greeting', 1],
    ['job.retried', 1],
    ['job.reaped', 2],
    ['job.claimed', 3],
    ['greeting', 3],
    ['job.buried', 3],
    ['job.claimed', 1],
    ['job.completed', 1],
  ]);
  for (const { trace_id } of found) expect(trace_id).toBe(traceId);
  for (const { job_id } of found.slice(1)) expect(job_id).toBe(job.id);
});
