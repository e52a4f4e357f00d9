import type { Ended, Written } from '../../functions/queue/batch.ts';
import type { Db } from '../../functions/queue/db.ts';
import type { ClaimedJob } from '../../functions/queue/job.ts';
import { settle } from '../../functions/queue/settle.ts';
import { type MadeJob, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { withSessions } from './sessions.ts';

const error = { attempt: 1, name: 'Error', message: 'boom' };

function ended({ id, token, kind }: MadeJob, settlement: Written): Ended {
  const job = { id, token, kind, attempts: 1, maxAttempts: 5 } as ClaimedJob;
  return { job, settlement, bytes: 1, durationMs: 1 };
}

const verdictsOf = async (db: Db, batch: Ended[]) => (await settle(db, batch)).settled.map(({ verdict }) => verdict);

test('each verb, accepted', async ({ db }) => {
  const [done, failed, dead, given] = await Promise.all(Array.from({ length: 4 }, () => processingJob(db)));
  const all = [
    ended(done as MadeJob, { kind: 'complete', result: { ok: 1 } }),
    ended(failed as MadeJob, { kind: 'retry', error, delaySeconds: 60 }),
    ended(dead as MadeJob, { kind: 'bury', error }),
    ended(given as MadeJob, { kind: 'release', delaySeconds: 0 }),
  ];
  const verdicts = [];
  for (const one of all) verdicts.push(...(await verdictsOf(db, [one])));
  expect(verdicts).toEqual(['completed', 'retried', 'buried', 'released']);
  const rows = await Promise.all(all.map(({ job }) => rowOf(db, job.id)));
  expect(rows.map((row) => row?.status)).toEqual(['completed', 'pending', 'dead', 'pending']);
});

test('retry and release of a job that was to be cancelled end in cancelled', async ({ db }) => {
  const failed = await processingJob(db, { cancelRequested: true });
  const given = await processingJob(db, { cancelRequested: true });
  expect(await verdictsOf(db, [ended(failed, { kind: 'retry', error, delaySeconds: 60 })])).toEqual(['cancelled']);
  expect(await verdictsOf(db, [ended(given, { kind: 'release', delaySeconds: 0 })])).toEqual(['cancelled']);
});

test('a repeated batch is accepted again, whatever the verb', async ({ db }) => {
  for (const settlement of [
    { kind: 'complete', result: 1 },
    { kind: 'retry', error, delaySeconds: 0 },
    { kind: 'bury', error },
    { kind: 'release', delaySeconds: 0 },
  ] satisfies Written[]) {
    const batch = [ended(await processingJob(db), settlement), ended(await processingJob(db), settlement)];
    expect(await verdictsOf(db, batch)).toEqual(await verdictsOf(db, batch));
    expect(await verdictsOf(db, batch)).not.toContain('overtaken');
  }
});

test('a bad row costs only itself: its batch is settled row by row', async ({ db }) => {
  const [first, bad, last] = await Promise.all(Array.from({ length: 3 }, () => processingJob(db)));
  const batch = [
    ended(first as MadeJob, { kind: 'complete', result: 1 }),
    // The pool never lets such a result come so far; here it stands for whatever a database may refuse.
    ended(bad as MadeJob, { kind: 'complete', result: 'a\0b' }),
    ended(last as MadeJob, { kind: 'complete', result: 3 }),
  ];
  expect(await verdictsOf(db, batch)).toEqual(['completed', 'buried', 'completed']);
  expect(await rowOf(db, (bad as MadeJob).id)).toMatchObject({
    status: 'dead',
    errors: [{ name: 'UnstorableError', message: expect.stringContaining('result could not be stored') }],
  });
});

test('a bad row in a repeated batch is answered the same', async ({ db }) => {
  const batch = [
    ended(await processingJob(db), { kind: 'complete', result: 1 }),
    ended(await processingJob(db), { kind: 'complete', result: 'a\0b' }),
  ];
  await settle(db, batch);
  expect(await verdictsOf(db, batch)).toEqual(['completed', 'buried']);
});

test('an error that the database refuses is replaced by one that says so', async ({ db }) => {
  const [retried, buried] = [await processingJob(db), await processingJob(db)];
  const bad = { ...error, message: 'a\0b' };
  expect(await verdictsOf(db, [ended(retried, { kind: 'retry', error: bad, delaySeconds: 9 })])).toEqual(['retried']);
  expect(await verdictsOf(db, [ended(buried, { kind: 'bury', error: bad })])).toEqual(['buried']);
  for (const { id } of [retried, buried]) {
    expect(await rowOf(db, id)).toMatchObject({ errors: [{ attempt: 1, name: 'UnstorableError' }] });
  }
});

test('one that is refused even so is left to its lease', async ({ db }) => {
  const job = await processingJob(db, { attempts: 5 });
  // The last attempt cannot be retried (a check of the table): only a fault of ours would ask for it.
  const batch = [ended(job, { kind: 'retry', error, delaySeconds: 1 })];
  expect(await verdictsOf(db, batch)).toEqual(['refused']);
  expect(await statusOf(db, job.id)).toBe('processing');
});

test('what replaces an error keeps when and where the attempt failed', async ({ db }) => {
  const job = await processingJob(db);
  const circumstances = {
    started_at: '2026-11-29T08:00:00.000Z',
    failed_at: '2026-11-29T08:00:01.000Z',
    where: 'here',
  };
  const bad = { ...error, ...circumstances, message: 'a\0b' };
  await settle(db, [ended(job, { kind: 'retry', error: bad, delaySeconds: 9 })]);
  expect(await rowOf(db, job.id)).toMatchObject({ errors: [{ ...circumstances, name: 'UnstorableError' }] });
});

test('a row that somebody holds costs only itself, whatever the verb, and can be settled later', async ({
  db,
  databaseUrl,
}) => {
  for (const [settlement, verdict] of [
    [{ kind: 'complete', result: 1 }, 'completed'],
    [{ kind: 'retry', error, delaySeconds: 0 }, 'retried'],
    [{ kind: 'bury', error }, 'buried'],
    [{ kind: 'release', delaySeconds: 0 }, 'released'],
  ] satisfies [Written, string][]) {
    const jobs = [await processingJob(db), await processingJob(db), await processingJob(db)];
    const batch = jobs.map((job) => ended(job, settlement));
    const held = batch[1] as Ended;
    await withSessions(databaseUrl, async (operator) => {
      await operator.begin();
      await operator.query('SELECT millrace.cancel($1)', [held.job.id]);
      const { settled, blocked } = await settle(db, batch);
      expect(new Set(settled)).toEqual(new Set([batch[0], batch[2]].map((one) => ({ ended: one, verdict }))));
      expect(blocked).toEqual([held]);
      expect(await statusOf(db, held.job.id)).toBe('processing');
      await operator.rollback();
    });
    expect(await verdictsOf(db, [held])).toEqual([verdict]);
  }
});

test('a value that cannot be put into words on this side costs only itself too', async ({ db }) => {
  const good = await processingJob(db);
  const bad = await processingJob(db);
  const batch = [ended(good, { kind: 'complete', result: 1 }), ended(bad, { kind: 'complete', result: 1n })];
  expect(await verdictsOf(db, batch)).toEqual(['completed', 'buried']);
});

test('a database that fails is not a bad row: the batch is repeated whole', async ({ db }) => {
  const failing: Db = {
    query: async () => {
      throw Object.assign(new Error('canceling statement'), { code: '57014', severity: 'ERROR' });
    },
  };
  const job = await processingJob(db);
  await expect(settle(failing, [ended(job, { kind: 'complete', result: 1 })])).rejects.toThrow('canceling');
});
