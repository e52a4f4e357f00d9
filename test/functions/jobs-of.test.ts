import { expect, test } from 'vitest';
import * as z from 'zod';
import { CANARY } from '../../functions/queue/canary.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Middleware } from '../../functions/queue/middleware.ts';
import { schedule } from '../../functions/queue/schedule.ts';
import { jobsOf } from '../../functions/work/jobs-of.ts';

const contracts = { contracts: { own: defineJob({ payload: z.unknown() }) } };
const processors = { own: () => 1 };

test('a worker has the kinds of its modules and the canary, and what the processors module has around processors', () => {
  const around: Middleware = (_, next) => next();
  const jobs = jobsOf(contracts, { processors, middleware: [around] });
  expect(Object.keys(jobs.contracts)).toEqual(['own', CANARY]);
  expect(Object.keys(jobs.processors)).toEqual(['own', CANARY]);
  expect(jobs.middleware).toEqual([around]);
  expect(jobsOf(contracts, { processors }).middleware).toEqual([]);
});

test('a middleware that is none is said, before any job is claimed', () => {
  expect(() => jobsOf(contracts, { processors, middleware: { name: 'mine' } })).toThrow(
    'middleware must be an array of functions (job, next, ctx) => …, not of type object',
  );
});

test('schedules are those of the contracts module, and a bad one is said before any job is claimed', () => {
  const daily = schedule({ name: 'daily', every: '1d', kind: 'own', payload: 1 });
  expect(jobsOf({ ...contracts, schedules: [daily] }, { processors }).schedules).toEqual([daily]);
  expect(jobsOf(contracts, { processors }).schedules).toEqual([]);
  const often = { ...daily, every: 'often' };
  expect(() => jobsOf({ ...contracts, schedules: [often] }, { processors })).toThrow(
    'schedule "daily": every must be a whole number with its unit, from 1s to 366d',
  );
});
