import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { declarable, declare } from '../../functions/queue/declare.ts';
import { dueTimes } from '../../functions/queue/due-times.ts';
import { type Fire, fire } from '../../functions/queue/fire.ts';
import { fireTimes } from '../../functions/queue/fire-times.ts';
import { pause, resume } from '../../functions/queue/pause.ts';
import { type Schedule, schedule } from '../../functions/queue/schedule.ts';
import { until } from '../lifecycle/ground.ts';
import { ageLive, counterOf, liveRowOf, rowOf } from '../support/factories.ts';
import { describe, expect, openClient, test } from '../support/fixtures.ts';
import { changesOf, firesOf, type Meaning, YEAR } from './wall-clock.ts';

const KIND = 'report.send';
const contracts = { [KIND]: defineJob({ payload: z.unknown(), queue: 'reports', maxAttempts: 7 }) };
const T = Date.UTC(2025, 5, 1);
const HOUR = 3_600_000;
const hourly = schedule({ name: 'hourly', cron: '0 * * * *', kind: KIND, payload: { n: 1 }, overlap: 'allow' });

async function declared(db: Db, ...schedules: Schedule[]) {
  return declare(db, await Promise.all(schedules.map((one) => declarable(one, contracts))));
}

/** As if the schedule had fired up to then, and no further. */
async function firedUntil(db: Db, at: number): Promise<void> {
  await db.query('UPDATE millrace.schedules SET fired_until = to_timestamp($1::float8 / 1000)', [at]);
}

async function hourlySince(db: Db, at: number, over: Partial<Schedule> = {}): Promise<void> {
  await declared(db, { ...hourly, ...over });
  await firedUntil(db, at);
}

const at = (times: number[], over: Partial<Fire> = {}): Fire => ({
  schedule: hourly,
  times,
  missed: false,
  next: undefined,
  ...over,
});

const outcomes = async (db: Db, ...fires: Fire[]) => (await fire(db, fires)).map(({ outcome }) => outcome);

async function stateOf(db: Db) {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT last_outcome, last_job_id, extract(epoch FROM fired_until)::float8 * 1000 AS "firedUntil",
            extract(epoch FROM next_fire_at)::float8 * 1000 AS "nextFireAt"
     FROM millrace.schedules`,
  );
  return rows[0];
}

describe('a fire time', () => {
  test('makes one job of what was declared, and comes never again', async ({ db }) => {
    await hourlySince(db, T);
    const [fired] = await fire(db, [at([T + HOUR], { next: T + 2 * HOUR })]);
    expect(fired).toMatchObject({ outcome: 'fired', fireAt: T + HOUR, now: expect.any(Number) });
    expect(await liveRowOf(db, fired?.jobId as string)).toMatchObject({
      kind: KIND,
      queue: 'reports',
      status: 'pending',
      max_attempts: 7,
      schedule_name: 'hourly',
      request_id: 'schedule/hourly/2025-06-01T01:00:00.000Z',
      payload_bytes: 8,
    });
    expect(await rowOf(db, fired?.jobId as string)).toMatchObject({ payload: { n: 1 } });
    expect(await counterOf(db, KIND, 'enqueued')).toBe(1);
    expect(await outcomes(db, at([T + HOUR]), at([T]))).toEqual(['over', 'over']);
    expect(await stateOf(db)).toMatchObject({ last_outcome: 'fired', last_job_id: fired?.jobId, firedUntil: T + HOUR });
  });

  test('that lies ahead by the clock of the database is refused, and comes later', async ({ db }) => {
    await hourlySince(db, T);
    const ahead = Date.now() + 24 * HOUR;
    expect(await outcomes(db, at([T + HOUR, ahead]))).toEqual(['fired', 'ahead']);
    expect(await stateOf(db)).toMatchObject({ firedUntil: T + HOUR });
  });

  test('passes while it is paused, and is not made up for, also by one that comes to it late', async ({ db }) => {
    await hourlySince(db, T);
    await pause(db, 'schedule', 'hourly');
    expect(await outcomes(db, at([T + HOUR]))).toEqual(['paused']);
    await resume(db, 'schedule', 'hourly');
    expect(await outcomes(db, at([T + 2 * HOUR]))).toEqual(['paused']);
    const [again] = await declared(db, hourly);
    expect(again?.firesFrom).toBeGreaterThan(T + 2 * HOUR);
    await db.query(`UPDATE millrace.pauses SET paused_at = to_timestamp(0), resumed_at = to_timestamp(1)`);
    expect(await outcomes(db, at([T + 3 * HOUR]))).toEqual(['fired']);
  });

  test('passes while a job of the schedule is live, however it came to be, unless they may overlap', async ({ db }) => {
    await hourlySince(db, T, { overlap: 'skip' });
    const [first] = await fire(db, [at([T + HOUR])]);
    const id = first?.jobId as string;
    expect(await outcomes(db, at([T + 2 * HOUR, T + 3 * HOUR]))).toEqual(['overlap', 'overlap']);
    await db.query(
      `UPDATE millrace.live_jobs SET status = 'processing', locked_by = gen_random_uuid(), locked_until = now()`,
    );
    await ageLive(db, id, 60);
    expect(await outcomes(db, at([T + 4 * HOUR]))).toEqual(['overlap']);
    expect(await stateOf(db)).toMatchObject({ last_outcome: 'overlap', last_job_id: id, firedUntil: T + 4 * HOUR });
    await db.query('DELETE FROM millrace.live_jobs');
    expect(await outcomes(db, at([T + 5 * HOUR]))).toEqual(['fired']);
  });

  test('that was missed passes if it is to', async ({ db }) => {
    await hourlySince(db, T);
    expect(await outcomes(db, at([T + HOUR], { missed: true }))).toEqual(['missed']);
    expect(await stateOf(db)).toMatchObject({ last_outcome: 'missed', last_job_id: null, firedUntil: T + HOUR });
  });

  test('of other times than were declared last makes nothing, nor does one of a schedule that is gone', async ({
    db,
  }) => {
    await hourlySince(db, T);
    const old = { ...hourly, cron: '30 * * * *' };
    expect(await outcomes(db, at([T + HOUR], { schedule: old }))).toEqual(['superseded']);
    await db.query('DELETE FROM millrace.schedules');
    expect(await outcomes(db, at([T + HOUR]))).toEqual(['superseded']);
    expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(0);
  });

  test('waits for nobody: who finds the row held is told so, and both together fire once', async ({
    db,
    databaseUrl,
  }) => {
    await hourlySince(db, T);
    const other = await openClient(databaseUrl);
    await other.query('BEGIN');
    expect(await outcomes(other, at([T + HOUR]))).toEqual(['fired']);
    expect(await outcomes(db, at([T + HOUR]))).toEqual(['held']);
    expect((await declared(db, { ...hourly, catchUp: 'none' })).map(({ firesFrom }) => firesFrom)).toEqual([T]);
    await other.query('COMMIT');
    await other.end();
    expect(await outcomes(db, at([T + HOUR]))).toEqual(['over']);
    expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount).toBe(1);
  });
});

describe('a declaration', () => {
  test('of a schedule that is new lets it fire from now on', async ({ db }) => {
    const [first] = await declared(db, hourly);
    expect(Math.abs((first?.firesFrom ?? 0) - (first?.now ?? 0))).toBeLessThan(1000);
    expect(first?.nextFireAt).toBeNull();
  });

  test('again changes nothing, and writes nothing for five minutes', async ({ db }) => {
    await hourlySince(db, T);
    await fire(db, [at([], { next: T + HOUR })]);
    const version = async () => (await db.query('SELECT xmin, declared_at FROM millrace.schedules')).rows[0];
    const before = await version();
    expect(await declared(db, hourly)).toMatchObject([{ firesFrom: T, nextFireAt: T + HOUR }]);
    expect(await version()).toEqual(before);
    await db.query(`UPDATE millrace.schedules SET declared_at = declared_at - interval '6 minutes'`);
    expect(await declared(db, hourly)).toMatchObject([{ firesFrom: T, nextFireAt: T + HOUR }]);
    const { rows } = await db.query(
      `SELECT declared_at > now() - interval '1 minute' AS fresh FROM millrace.schedules`,
    );
    expect(rows).toEqual([{ fresh: true }]);
  });

  test('with other times counts from now on; what it makes may change without that', async ({ db }) => {
    await hourlySince(db, T);
    const changed = { ...hourly, payload: { n: 2 }, overlap: 'skip', catchUp: 'none' } as const;
    expect(await declared(db, changed)).toMatchObject([{ firesFrom: T }]);
    // A run of the old code makes the job of the new.
    const [fired] = await fire(db, [at([T + HOUR])]);
    expect(await rowOf(db, fired?.jobId as string)).toMatchObject({ payload: { n: 2 } });
    const [moved] = await declared(db, { ...hourly, cron: '30 * * * *' });
    expect((moved?.now ?? 0) - (moved?.firesFrom ?? 0)).toBeLessThan(1000);
    expect(moved?.nextFireAt).toBeNull();
  });
});

describe('a year, told by the clock on the wall', () => {
  const PATTERNS: [string, Meaning][] = [
    ['30 2 * * *', { minutes: [30], hours: [2], fixed: true }],
    ['45 1 * * *', { minutes: [45], hours: [1], fixed: true }],
    ['30 2,14 * * MON,SUN', { minutes: [30], hours: [2, 14], weekdays: [0, 1], fixed: true }],
    ['*/20 1-2 * * SUN', { minutes: [0, 20, 40], hours: [1, 2], weekdays: [0], fixed: false }],
  ];
  const DAY = 24 * HOUR;

  test.for([
    ['berlin', 'Europe/Berlin'],
    ['york', 'America/New_York'],
    ['howe', 'Australia/Lord_Howe'],
  ] as const)(
    '%s fires once and exactly as stated, under doubled ticks and ticks that die',
    async ([city, zone], { db, databaseUrl }) => {
      const changes = changesOf(zone);
      const stated = new Map(PATTERNS.map(([, meaning], n) => [`${city}.${n}`, firesOf(meaning, changes)]));
      const schedules = PATTERNS.map(([cron], n) =>
        schedule({ name: `${city}.${n}`, cron, zone, kind: KIND, payload: { city }, catchUp: 'all', overlap: 'allow' }),
      );
      await declared(db, ...schedules);
      await firedUntil(db, YEAR.from);

      /** What a start does at that instant. */
      const tick = async (on: Db, now: number) => {
        const known = new Map((await declared(on, ...schedules)).map(({ name, firesFrom }) => [name, firesFrom]));
        const fires = schedules.map((one) => {
          const times = fireTimes(one);
          return {
            schedule: one,
            ...dueTimes(times, one.catchUp, { after: known.get(one.name) as number, now }),
            next: times.next(now),
          };
        });
        return fire(on, fires);
      };
      const dies = async (now: number) => {
        const client = await openClient(databaseUrl);
        await client.query('BEGIN');
        await tick(client, now);
        client.connection.stream.destroy();
      };
      // Not in step with days, so that it is early, late, and at the edges; the last one finds the rest.
      for (
        let now = YEAR.from + 3 * DAY + 7 * HOUR, n = 0;
        now < YEAR.until + 7 * DAY;
        now += 7 * DAY + 5 * HOUR, n++
      ) {
        const upTo = Math.min(now, YEAR.until);
        await Promise.all([tick(db, upTo), tick(db, upTo), ...(n % 5 === 0 ? [dies(upTo)] : [])]);
      }
      await until(async () => (await tick(db, YEAR.until)).every(({ outcome }) => outcome !== 'held'));

      const { rows } = await db.query<{ name: string; times: string[] }>(
        `SELECT schedule_name AS name, array_agg(split_part(request_id, '/', 3) ORDER BY request_id) AS times
       FROM millrace.live_jobs
       GROUP BY schedule_name`,
      );
      expect(rows).toHaveLength(PATTERNS.length);
      for (const { name, times } of rows) {
        expect(times).toEqual(stated.get(name)?.map((instant) => new Date(instant).toISOString()));
      }
    },
  );
});
