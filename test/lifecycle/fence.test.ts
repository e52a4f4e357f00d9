import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Ended, Written } from '../../functions/queue/batch.ts';
import { cancel } from '../../functions/queue/cancel.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { reap } from '../../functions/queue/reap.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import { settle } from '../../functions/queue/settle.ts';
import {
  ageLive,
  expireLease,
  type MadeJob,
  pendingJob,
  processingJob,
  rowOf,
  statusOf,
} from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { recorder, runOn, until } from './ground.ts';

const kind = 'test.kind';
const contracts = { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 20 }) };
const error = { attempt: 1, name: 'Error', message: 'boom' };

const SETTLEMENTS: Written[] = [
  { kind: 'complete', result: 'stale' },
  { kind: 'retry', error, delaySeconds: 0 },
  { kind: 'bury', error },
  { kind: 'release', delaySeconds: 0 },
];

function ended({ id, token }: MadeJob, settlement: Written): Ended {
  return { job: { id, token, kind, attempts: 1, maxAttempts: 5 } as Ended['job'], settlement, bytes: 1, durationMs: 1 };
}

describe('only the holder of the current claim can settle it', () => {
  for (const settlement of SETTLEMENTS) {
    test(`a stale claim in one settle batch with another job's token changes nothing: ${settlement.kind}`, async ({
      db,
    }) => {
      // One claim holds both jobs now; the batch brings its token with the one, and an older token with the other.
      const token = randomUUID();
      const other = await processingJob(db, { token });
      const job = await processingJob(db, { token, attempts: 2 });
      const before = await rowOf(db, job.id);
      const { settled } = await settle(db, [
        ended(other, settlement),
        ended({ ...job, token: randomUUID() }, settlement),
      ]);
      expect(settled.map(({ verdict }) => verdict)).toEqual([expect.not.stringMatching('overtaken'), 'overtaken']);
      expect(await rowOf(db, job.id)).toEqual(before);
    });

    test(`a late settle after a reap changes nothing: ${settlement.kind}`, async ({ db }) => {
      const job = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
      await reap(db, { limit: 10 });
      const before = await rowOf(db, job.id);
      expect((await settle(db, [ended(job, settlement)])).settled).toMatchObject([{ verdict: 'overtaken' }]);
      expect(await rowOf(db, job.id)).toEqual(before);
    });

    test(`a late settle that nobody overtook is accepted: ${settlement.kind}`, async ({ db }) => {
      const job = await processingJob(db, { leaseExpiredSecondsAgo: 3_600 });
      const { settled } = await settle(db, [ended(job, settlement)]);
      expect(settled).toEqual([{ ended: expect.anything(), verdict: expect.not.stringMatching('overtaken') }]);
      expect(await statusOf(db, job.id)).not.toBe('processing');
    });
  }

  test('a job that was reaped, buried and redriven is not settled by the claim it had before', async ({ db }) => {
    const job = await processingJob(db, { leaseExpiredSecondsAgo: 1, attempts: 5 });
    await reap(db, { limit: 10 });
    await redrive(db, job.id);
    for (const settlement of SETTLEMENTS) {
      expect((await settle(db, [ended(job, settlement)])).settled).toMatchObject([{ verdict: 'overtaken' }]);
    }
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a job that was reaped and cancelled stays cancelled', async ({ db }) => {
    const job = await processingJob(db, { leaseExpiredSecondsAgo: 1 });
    await reap(db, { limit: 10 });
    await cancel(db, job.id);
    for (const settlement of SETTLEMENTS) {
      expect((await settle(db, [ended(job, settlement)])).settled).toMatchObject([{ verdict: 'overtaken' }]);
    }
    expect(await statusOf(db, job.id)).toBe('cancelled');
  });
});

test('a worker that was overtaken is told so, and the result of who overtook it stays', async ({ db, databaseUrl }) => {
  const job = await pendingJob(db);
  const gate = Promise.withResolvers<void>();
  const events = recorder();
  const late = runOn(databaseUrl, {
    contracts,
    processors: { [kind]: () => gate.promise.then(() => 'late') },
    emit: events.emit,
  });
  await until(() => events.named('job.claimed').length === 1);
  await expireLease(db, job.id);
  await reap(db, { limit: 10 });
  await ageLive(db, job.id, 60);
  await runOn(databaseUrl, { contracts, processors: { [kind]: () => 'in time' } });
  gate.resolve();
  expect(await late).toMatchObject({ claimed: 1, completed: 0, overtaken: 1 });
  expect(events.named('job.overtaken')).toMatchObject([{ id: job.id, attempt: 1 }]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', attempts: 2, result: 'in time' });
});
