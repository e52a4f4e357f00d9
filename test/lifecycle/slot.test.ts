import type pg from 'pg';
import { RENEW_MS } from '../../functions/queue/presence.ts';
import { reap } from '../../functions/queue/reap.ts';
import { PRESENCE_SECONDS } from '../../functions/queue/renew-presence.ts';
import { rowOf } from '../support/factories.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { deedJobs } from './deeds.ts';
import { runOn, until } from './ground.ts';
import { deed, startWorker, timePasses, type WorkerProcess } from './process.ts';

const test = base.skipIf(inject('postgresMajor') === 15);

const slot = { worker: 'Jobs-Work', slot: 0, woken: false };

describe('two workers in one slot', () => {
  test('started by a doubled tick: one claims, the other leaves at once and has touched nothing', async ({
    db,
    databaseUrl,
  }) => {
    const workers = [started(databaseUrl), started(databaseUrl)];
    const first = await Promise.race(workers.map(async (worker) => [worker, await worker.ended] as const));
    const [left, end] = first;
    expect(end).toMatchObject({ code: 0, summary: { claimed: 0, reason: 'held' } });
    expect(left.messages.filter(({ name }) => name !== 'ended')).toEqual([]);
    const [stays] = workers.filter((worker) => worker !== left) as [WorkerProcess];
    await deed(db, { do: 'finish' });
    expect(await stays.said('job.completed')).toBe(true);
    expect(await drained(stays)).toMatchObject({ summary: { completed: 1, reason: 'drained' } });
  });

  test('of ten starts in one moment one takes it', async ({ databaseUrl }) => {
    const end = new AbortController();
    const runs = Array.from({ length: 10 }, () =>
      runOn(databaseUrl, { ...deedJobs(), slot, lingerSeconds: 60, signal: end.signal }).then(({ reason }) => reason),
    );
    const reasons: string[] = [];
    for (const run of runs) void run.then((reason) => reasons.push(reason));
    await until(() => reasons.length === 9);
    end.abort();
    await Promise.all(runs);
    expect(reasons.sort()).toEqual(['drained', ...Array(9).fill('held')]);
  });

  test('the next tick relieves who has lingered: it finishes what it holds, and claims no more', async ({
    db,
    databaseUrl,
  }) => {
    const first = started(databaseUrl);
    const held = await deed(db, { do: 'hold' });
    await first.said('job.claimed');
    await aMinuteLater(db);
    const second = started(databaseUrl);
    await first.said('run.last_claimed');
    const late = await deed(db, { do: 'finish' });
    await second.said('job.completed');
    first.child.kill('SIGUSR2');
    expect(await first.ended).toMatchObject({ code: 0, summary: { claimed: 1, completed: 1, reason: 'relieved' } });
    for (const id of [held, late]) expect(await rowOf(db, id)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(await present(db)).toBe(true);
    await drained(second);
    expect(await present(db)).toBe(false);
  });

  test('one of them stood still until nobody believed in it any more: what it holds it settles, but it claims nothing', async ({
    db,
    databaseUrl,
  }) => {
    const first = started(databaseUrl);
    const held = await deed(db, { do: 'finish', ms: 100 });
    await first.said('job.claimed');
    first.child.kill('SIGSTOP');
    const renewalDue = await nextRenewal(db);
    await presenceRunsOut(db);
    const second = started(databaseUrl);
    await until(() => present(db));
    // All places of the other are taken, so that the rest is for whoever claims.
    for (let n = 0; n < 10; n++) await deed(db, { do: 'wait' });
    await second.said('job.claimed', 10);
    const more = await deed(db, { do: 'finish' });
    await until(renewalDue);
    first.child.kill('SIGCONT');
    expect(await first.ended).toMatchObject({ code: 0, summary: { claimed: 1, completed: 1, reason: 'relieved' } });
    expect(await rowOf(db, held)).toMatchObject({ status: 'completed', attempts: 1 });
    expect(await rowOf(db, more)).toMatchObject({ status: 'pending', attempts: 0 });
    expect(await present(db)).toBe(true);
    await drained(second);
  });

  test('after a kill -9 the slot is held until the presence has run out; then a tick takes it, doubled or not', async ({
    db,
    databaseUrl,
  }) => {
    const job = await deed(db, { do: 'finish', ms: 60_000 });
    const killed = started(databaseUrl);
    await killed.said('job.claimed');
    killed.child.kill('SIGKILL');
    await killed.ended;
    const tick = () => runOn(databaseUrl, { ...deedJobs(), slot });
    expect(await tick()).toMatchObject({ claimed: 0, reason: 'held' });
    await db.query(`UPDATE millrace.payloads SET payload = '{"do": "finish"}' WHERE id = $1`, [job]);
    await timePasses(db, () => reap(db, { limit: 10 }));
    await presenceRunsOut(db);
    const [one, other] = await Promise.all([tick(), tick()]);
    expect(one.completed + other.completed).toBe(1);
    expect(await rowOf(db, job)).toMatchObject({ status: 'completed', attempts: 2 });
  });
});

test('ticks come twice, late or not at all, for each of three slots: each job is done once, and none is left', async ({
  db,
  databaseUrl,
}) => {
  await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid); TRUNCATE public.effects');
  let jobs = 0;
  // How often each slot's tick comes in one minute after another; in the last one all come.
  for (const minute of [
    [1, 1, 1],
    [2, 0, 2],
    [0, 2, 0],
    [0, 0, 0],
    [2, 2, 2],
    [0, 1, 1],
    [1, 0, 0],
    [1, 1, 1],
  ]) {
    for (let n = 0; n < 25; n++) await deed(db, { do: 'effect' });
    jobs += 25;
    const starts = minute.flatMap((times, k) => Array.from({ length: times }, () => ({ ...slot, slot: k })));
    const ends = await Promise.all(starts.map((one) => runOn(databaseUrl, { ...deedJobs(), slot: one })));
    for (const end of ends) expect(end).toMatchObject({ overtaken: 0, retried: 0, unsettled: 0 });
    await aMinuteLater(db);
  }
  const { rows } = await db.query('SELECT count(*)::int AS n, count(DISTINCT job)::int AS jobs FROM public.effects');
  expect(rows).toEqual([{ n: jobs, jobs }]);
  expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(0);
});

function started(databaseUrl: string): WorkerProcess {
  return startWorker({ databaseUrl, slot, lingerSeconds: 60 });
}

function drained(worker: WorkerProcess): WorkerProcess['ended'] {
  worker.child.kill('SIGTERM');
  return worker.ended;
}

/** As if the runs that hold slots had begun so long ago. */
async function aMinuteLater(db: pg.Pool): Promise<void> {
  await db.query(`UPDATE millrace.slots SET started_at = started_at - interval '1 minute'`);
}

/** As if nobody had renewed it for so long. */
async function presenceRunsOut(db: pg.Pool): Promise<void> {
  await db.query('UPDATE millrace.slots SET present_until = clock_timestamp()');
}

/** Whether the time has come at which the holder is to say again that it claims. */
async function nextRenewal(db: pg.Pool): Promise<() => Promise<boolean>> {
  const { rows } = await db.query(
    `SELECT (present_until - make_interval(secs => $1) + make_interval(secs => $2))::text AS at FROM millrace.slots`,
    [PRESENCE_SECONDS, RENEW_MS / 1000],
  );
  return async () => (await db.query('SELECT clock_timestamp() > $1::timestamptz AS due', [rows[0].at])).rows[0].due;
}

async function present(db: pg.Pool): Promise<boolean> {
  return (await db.query('SELECT FROM millrace.slots WHERE present_until > clock_timestamp()')).rowCount === 1;
}
