import type pg from 'pg';
import { enqueue } from '../../functions/queue/enqueue-typed.ts';
import { readiness } from '../../functions/queue/readiness.ts';
import { redrive } from '../../functions/queue/redrive.ts';
import type { RunSummary } from '../../functions/queue/run.ts';
import { liveRowOf, rowOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { recorder, remaining, runOn, until } from './ground.ts';
import * as after from './two-versions/after.ts';
import * as before from './two-versions/before.ts';
import type { Effect } from './two-versions/effects.ts';

/** One of each kind, as that version puts them in. */
const put = {
  before: async (db: pg.Pool) => ({
    mail: await enqueue(db, before.contracts, { kind: 'order.mail', payload: { email: 'ann' } }),
    report: await enqueue(db, before.contracts, { kind: 'report.build', payload: { week: 2 } }),
    note: await enqueue(db, before.contracts, { kind: 'note.keep', payload: { text: 'old' } }),
  }),
  after: async (db: pg.Pool) => ({
    mail: await enqueue(db, after.contracts, { kind: 'order.notify', payload: { to: ['ann', 'bob'] } }),
    report: await enqueue(db, after.contracts, { kind: 'report.build', payload: { days: 3 } }),
    note: await enqueue(db, after.contracts, { kind: 'note.keep', payload: { text: 'new' } }),
  }),
};

/** A worker of each version, until nothing is due. */
const work = {
  before: (url: string, effects: Effect[] = []): Promise<RunSummary> =>
    runOn(url, { contracts: before.contracts, processors: before.processors((effect) => effects.push(effect)) }),
  after: (url: string, effects: Effect[] = []): Promise<RunSummary> =>
    runOn(url, { contracts: after.contracts, processors: after.processors((effect) => effects.push(effect)) }),
};

/** As if their backoff had gone by. */
const timePasses = (db: pg.Pool) =>
  db.query(`UPDATE millrace.live_jobs SET run_at = least(run_at, now() - interval '1 second')`);

const statuses = async (db: pg.Pool) =>
  (await db.query('SELECT kind, status, count(*)::int AS n FROM millrace.jobs GROUP BY 1, 2 ORDER BY 1, 2')).rows;

describe('a deploy with work pending', () => {
  test('new code does what old code put in: under the old name, in the old shape, unsealed', async ({
    db,
    databaseUrl,
  }) => {
    const jobs = await put.before(db);
    const later = await enqueue(db, before.contracts, {
      kind: 'order.mail',
      payload: { email: 'eve' },
      delaySeconds: 3600,
    });
    const effects: Effect[] = [];
    expect(await work.after(databaseUrl, effects)).toMatchObject({ completed: 3, retried: 0 });
    await timePasses(db);
    expect(await work.after(databaseUrl, effects)).toMatchObject({ completed: 1 });
    expect(effects).toHaveLength(4);
    expect(effects).toEqual(
      expect.arrayContaining([
        { by: 'after order.notify', job: jobs.mail, payload: { to: ['ann'] } },
        { by: 'after order.notify', job: later, payload: { to: ['eve'] } },
        { by: 'after report.build', job: jobs.report, payload: { days: 14 } },
        { by: 'after note.keep', job: jobs.note, payload: { text: 'old' } },
      ]),
    );
    // It keeps the name that it was put in by: metrics and pauses go on as before.
    expect(await rowOf(db, jobs.mail)).toMatchObject({ kind: 'order.mail', status: 'completed' });
  });

  test('a kind that is gone stays pending, and shows', async ({ db, databaseUrl }) => {
    const gone = await enqueue(db, before.contracts, { kind: 'legacy.sync', payload: {} });
    await put.before(db);
    await work.after(databaseUrl);
    expect(await rowOf(db, gone)).toMatchObject({ status: 'pending', attempts: 0 });
    // An alias is claimed, so it does not.
    const due = await enqueue(db, before.contracts, { kind: 'order.mail', payload: { email: 'ann' } });
    expect((await readiness(db)).unclaimedKinds).toEqual(['legacy.sync']);
    await work.before(databaseUrl);
    expect([await rowOf(db, gone), await rowOf(db, due)]).toMatchObject([
      { status: 'completed' },
      { status: 'completed' },
    ]);
  });
});

test('a rollback: old code does nothing with what it cannot read, and the next deploy does all of it', async ({
  db,
  databaseUrl,
}) => {
  const jobs = await put.after(db);
  const effects: Effect[] = [];
  expect(await work.before(databaseUrl, effects)).toMatchObject({ claimed: 2, retried: 2, completed: 0 });
  expect(effects).toEqual([]);
  // Its name is none of theirs; the shape and the envelope of the others are no reason to give them up.
  expect(await rowOf(db, jobs.mail)).toMatchObject({ status: 'pending', attempts: 0 });
  expect(await rowOf(db, jobs.report)).toMatchObject({
    status: 'pending',
    attempts: 1,
    errors: [{ name: 'PayloadError', message: expect.stringContaining('/week: is required') }],
  });
  expect((await rowOf(db, jobs.note))?.errors).toMatchObject([
    {
      name: 'PayloadError',
      message: expect.stringContaining('sealed for the kind "note.keep", which has no codec here'),
    },
  ]);
  await timePasses(db);
  expect(await work.after(databaseUrl, effects)).toMatchObject({ completed: 3 });
  expect(effects.map(({ by }) => by).toSorted()).toEqual([
    'after note.keep',
    'after order.notify',
    'after report.build',
  ]);
});

test('a rollback that lasts longer than the attempts: what died of it is redriven', async ({ db, databaseUrl }) => {
  const job = { kind: 'report.build', payload: { days: 3 }, maxAttempts: 1 } as const;
  const id = await enqueue(db, after.contracts, job);
  expect(await work.before(databaseUrl)).toMatchObject({ buried: 1 });
  expect(await redrive(db, id, { actor: 'test', requestId: 'r' })).toBeDefined();
  expect(await work.after(databaseUrl)).toMatchObject({ completed: 1 });
});

test('while both run: each job is done once, by code that can read it', async ({ db, databaseUrl }) => {
  const all: Record<'before' | 'after', string[]> = { before: [], after: [] };
  for (let n = 0; n < 15; n++) {
    all.before.push(...Object.values(await put.before(db)));
    all.after.push(...Object.values(await put.after(db)));
  }
  const effects: Effect[] = [];
  for (let rounds = 0; rounds < 3; rounds++) {
    await Promise.all([work.before(databaseUrl, effects), work.after(databaseUrl, effects)]);
    await timePasses(db);
  }
  // The last worker of the old code has left.
  await work.after(databaseUrl, effects);
  expect(await statuses(db)).toEqual([
    { kind: 'note.keep', status: 'completed', n: 30 },
    { kind: 'order.mail', status: 'completed', n: 15 },
    { kind: 'order.notify', status: 'completed', n: 15 },
    { kind: 'report.build', status: 'completed', n: 30 },
  ]);
  expect(effects.map(({ job }) => job).toSorted()).toEqual([...all.before, ...all.after].toSorted());
  const byOldCode = effects.filter(({ by }) => by.startsWith('before')).map(({ job }) => job);
  expect(byOldCode.filter((job) => all.after.includes(job))).toEqual([]);
});

describe('another timeout', () => {
  const leaseSeconds = async (db: pg.Pool, id: string) => {
    const { locked_until, started_at } = (await liveRowOf(db, id)) ?? {};
    return (Number(locked_until) - Number(started_at)) / 1000;
  };

  test('holds for attempts that begin from then on; one that runs keeps its lease, whoever comes', async ({
    db,
    databaseUrl,
  }) => {
    const { report } = await put.before(db);
    const [old, young] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const runs: Promise<RunSummary>[] = [];
    const report1 = { 'report.build': before.contracts['report.build'] };
    runs.push(
      runOn(databaseUrl, { contracts: report1, processors: { 'report.build': () => old.promise }, concurrency: 1 }),
    );
    await until(async () => (await rowOf(db, report))?.status === 'processing');
    const second = await enqueue(db, after.contracts, { kind: 'report.build', payload: { days: 1 } });
    const report2 = { 'report.build': after.contracts['report.build'] };
    const events = recorder();
    runs.push(
      runOn(databaseUrl, {
        contracts: report2,
        processors: { 'report.build': () => young.promise },
        emit: events.emit,
      }),
    );
    await until(async () => (await rowOf(db, second))?.status === 'processing');
    expect(await leaseSeconds(db, report)).toBeCloseTo(30, 0);
    expect(await leaseSeconds(db, second)).toBeCloseTo(15, 0);
    expect(events.named('job.claimed').map(({ id }) => id)).toEqual([second]);
    old.resolve();
    young.resolve();
    expect(await Promise.all(runs)).toMatchObject([{ completed: 1 }, { completed: 1 }]);
  });

  test('that no longer fits into a run leaves the job to one that is longer, or whose code needs less', async ({
    db,
    databaseUrl,
  }) => {
    const { report } = await put.before(db);
    const short = { remainingMs: remaining(15_000) };
    const run = { processors: before.processors(() => {}), contracts: before.contracts, ...short };
    expect(await runOn(databaseUrl, run)).toMatchObject({ claimed: 0 });
    expect(await rowOf(db, report)).toMatchObject({ status: 'pending', attempts: 0 });
    const shorter = { processors: after.processors(() => {}), contracts: after.contracts, ...short };
    expect(await runOn(databaseUrl, shorter)).toMatchObject({ completed: 1 });
  });
});
