import { expect, test } from '../../support/fixtures.ts';
import { now } from '../frame/now.ts';
import { millrace } from '../systems/millrace.ts';
import { dueAt, dueBy, perSecondOf, putIn, type Schedule, SENDERS, scheduleFrom } from './schedule.ts';

const schedule: Schedule = { beginsAt: 5_000_000, endsAt: 5_001_000, first: 700, perTick: 30 };

test.each([
  [700, 0],
  [729, 0],
  [730, 10],
  [3699, 990],
])('job %i is due %i ms after the begin', (n, ms) => {
  expect(dueAt(schedule, n) - schedule.beginsAt).toBe(ms);
});

test.each([
  [-1, 0],
  [0, 30],
  [9.9, 30],
  [10, 60],
  [999, 3000],
  [60_000, 3000],
])('%d ms after the begin %i jobs were due', (ms, jobs) => {
  expect(dueBy(schedule, schedule.beginsAt + ms)).toBe(jobs);
});

test('a rate is kept to a whole number of jobs each tick', () => {
  const kept = [4321, 49, 1].map((perSecond) => perSecondOf(scheduleFrom({ perSecond, seconds: 1, first: 0 })));
  expect(kept).toEqual([4300, 100, 100]);
});

test('every job is put in once, however late the senders are', async ({ db, databaseUrl }) => {
  const producer = await millrace.producer(databaseUrl, SENDERS);
  const endsAt = now();
  const late: Schedule = { beginsAt: endsAt - 100, endsAt, first: 5, perTick: 3 };
  await putIn(producer, late, new AbortController().signal).finally(() => producer.close());
  const { rows } = await db.query("SELECT (payload ->> 'n')::int AS n FROM millrace.payloads ORDER BY n");
  expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 30 }, (_, at) => 5 + at));
});
