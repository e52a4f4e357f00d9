import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { pause } from '../../functions/queue/pause.ts';
import { reap } from '../../functions/queue/reap.ts';
import { temporaryDirectory } from '../local/bundle.ts';
import { liveRowOf, rowOf, statusOf } from '../support/factories.ts';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { until } from './ground.ts';
import { deed, startWorker } from './process.ts';

const test = base.skipIf(inject('postgresMajor') === 15 || inject('pooled'));

const HOUR = 3_600_000;
/** The one of Debian's package `libfaketime`. */
const [libfaketime] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
const PRELOAD = fileURLToPath(new URL('./wrong-clock.ts', import.meta.url));

/** How a process gets a clock that is off by the seconds that `file` says. */
const CLOCKS = {
  'an injected clock': (file: string) => ({
    env: { ...process.env, CLOCK_FILE: file },
    execArgv: ['--import', PRELOAD],
  }),
  libfaketime: (file: string) => ({
    env: {
      ...process.env,
      LD_PRELOAD: libfaketime,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      // Nobody sets that one.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  }),
};

describe('the database clock alone decides', () => {
  test.for([
    ['an injected clock', -7],
    ['libfaketime', 7],
  ] as const)(
    'a worker whose clock is wrong, then as much the other way, runs nothing early and nothing twice: %s, %i hours',
    async ([clock, hours], { db, databaseUrl, skip }) => {
      skip(clock === 'libfaketime' && libfaketime === undefined, 'libfaketime is not installed');
      const file = join(await temporaryDirectory(), 'clock');
      await set(file, hours);
      await db.query('CREATE TABLE IF NOT EXISTS public.effects (job uuid); TRUNCATE public.effects');
      const running = await deed(db, { do: 'wait' });
      const later = await deed(db, { do: 'finish' }, { delaySeconds: 3_600 });
      // Its second attempt is due a second after its first: the clock is set between them.
      const failing = await deed(db, { do: 'fail' }, { maxAttempts: 2 });
      const worker = startWorker({ databaseUrl, lingerSeconds: 60, beat: '1s' }, CLOCKS[clock](file));
      for (const wrongBy of [hours, -hours]) {
        await set(file, wrongBy);
        const told = await deed(db, { do: 'clock' });
        const effect = await deed(db, { do: 'effect' });
        const soon = await deed(db, { do: 'effect' }, { delaySeconds: 0.3 });
        for (const job of [told, effect, soon]) await until(async () => (await statusOf(db, job)) === 'completed');

        expect(((await rowOf(db, told))?.result - Date.now()) / HOUR).toBeCloseTo(wrongBy, 1);
        for (const job of [effect, soon]) expect(await rowOf(db, job)).toMatchObject({ attempts: 1 });
        expect((await secondsTo(db, soon)).start).toBeGreaterThanOrEqual(0.3);
        // Neither has its lease run out, nor is what comes in an hour due.
        expect(await reap(db, { limit: 100 })).toEqual([]);
        expect(await leaseSeconds(db, running)).toBeCloseTo(30, -1);
        expect(await liveRowOf(db, later)).toMatchObject({ status: 'pending', attempts: 0 });
      }
      await worker.said('schedule.fired', 2);
      await worker.said('job.buried');
      expect(await rowOf(db, failing)).toMatchObject({ status: 'dead', attempts: 2 });
      expect((await secondsTo(db, failing)).end).toBeGreaterThanOrEqual(1);
      // No beat is to be claimed in the moment of the end.
      await pause(db, 'schedule', 'beat');
      const beating = `SELECT FROM millrace.live_jobs WHERE schedule_name = 'beat'`;
      await until(async () => (await db.query(beating)).rowCount === 0);
      worker.child.kill('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0, summary: { reason: 'drained', released: 1, overtaken: 0 } });
      expect((await db.query('SELECT job FROM public.effects')).rowCount).toBe(4);
      const beats = await db.query(
        'SELECT request_id, created_at FROM millrace.finished_jobs WHERE schedule_name = $1',
        ['beat'],
      );
      const fireTimes = beats.rows.map(({ request_id }) => request_id.replace('schedule/beat/', ''));
      expect(new Set(fireTimes).size).toBe(fireTimes.length);
      for (const [n, { created_at }] of beats.rows.entries()) {
        const lateMs = created_at - Date.parse(fireTimes[n]);
        expect(lateMs).toBeGreaterThanOrEqual(0);
        // Nor are hours made up for.
        expect(lateMs).toBeLessThan(10_000);
      }
    },
  );

  test('a clock that is set back in the middle of a run does not make the run longer', async ({ db, databaseUrl }) => {
    const file = join(await temporaryDirectory(), 'clock');
    await set(file, 0);
    await deed(db, { do: 'finish' });
    const options = { databaseUrl, lingerSeconds: 60, deadlineSeconds: 9, timeoutSeconds: 2 };
    const worker = startWorker(options, CLOCKS['an injected clock'](file));
    await worker.said('job.completed');
    await set(file, -7);
    const { summary } = await worker.ended;
    expect(summary).toMatchObject({ completed: 1, reason: 'deadline' });
    expect(summary?.durationMs).toBeLessThan(9_000);
  });

  test('a clock that is set ahead in the middle of a run ends it, and what it holds is for nobody else until its lease is over', async ({
    db,
    databaseUrl,
  }) => {
    const file = join(await temporaryDirectory(), 'clock');
    await set(file, 0);
    const job = await deed(db, { do: 'wait' });
    const options = { databaseUrl, lingerSeconds: 60, deadlineSeconds: 60 };
    const worker = startWorker(options, CLOCKS['an injected clock'](file));
    await worker.said('job.claimed');
    await set(file, 7);
    expect(await worker.ended).toMatchObject({ code: 0, summary: { claimed: 1, unsettled: 1, reason: 'deadline' } });
    expect(await reap(db, { limit: 100 })).toEqual([]);
    expect(await liveRowOf(db, job)).toMatchObject({ status: 'processing', attempts: 1 });
  });
});

function set(file: string, hours: number): Promise<void> {
  return writeFile(file, `${hours < 0 ? '' : '+'}${hours * 3_600}\n`);
}

async function leaseSeconds(db: pg.Pool, id: string): Promise<number> {
  const { rows } = await db.query(
    'SELECT extract(epoch FROM locked_until - now())::float8 AS seconds FROM millrace.live_jobs WHERE id = $1',
    [id],
  );
  return rows[0].seconds;
}

/** Seconds from when a job was put in to its first attempt, and to its end. */
async function secondsTo(db: pg.Pool, id: string): Promise<{ readonly start: number; readonly end: number }> {
  const { rows } = await db.query(
    `SELECT extract(epoch FROM started_at - created_at)::float8 AS start,
            extract(epoch FROM finished_at - created_at)::float8 AS end
     FROM millrace.jobs WHERE id = $1`,
    [id],
  );
  return rows[0];
}
