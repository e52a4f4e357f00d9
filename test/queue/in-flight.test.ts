import { expect, test } from 'vitest';
import { CancelledError } from '../../functions/queue/errors.ts';
import { InFlight } from '../../functions/queue/in-flight.ts';
import type { ClaimedJob } from '../../functions/queue/job.ts';

const job = (id: string, token = 't1', reaps = 0) => ({ id, token, reaps }) as ClaimedJob;

test('a job that was reaped and claimed again runs twice here: only its newer claim counts', () => {
  const inFlight = new InFlight();
  const [older, newer] = [job('a', 't1'), job('a', 't2')];
  const first = inFlight.start(older, 0);
  const second = inFlight.start(newer, 10);
  expect(first.reason?.name).toBe('ClaimLostError');
  expect(second.reason).toBeUndefined();
  expect(inFlight.claims()).toEqual([{ id: 'a', token: 't2' }]);
  expect(inFlight.size).toBe(2);
  inFlight.end(older);
  expect(inFlight.size).toBe(1);
  expect(inFlight.claims()).toEqual([{ id: 'a', token: 't2' }]);
});

test('whichever attempt of it ends first, the other goes on', () => {
  const inFlight = new InFlight();
  const [older, newer] = [job('a', 't1'), job('a', 't2')];
  inFlight.start(older, 0);
  inFlight.start(newer, 10);
  inFlight.end(newer);
  expect(inFlight.size).toBe(1);
  expect(inFlight.claims()).toEqual([]);
  expect(inFlight.oldestMs(50)).toBe(50);
  inFlight.end(older);
  expect(inFlight.size).toBe(0);
});

test('while a suspect runs whose claim was lost, nothing else may', () => {
  const inFlight = new InFlight();
  const older = job('a', 't1', 2);
  inFlight.start(older, 0);
  inFlight.start(job('a', 't2'), 10);
  expect(inFlight.suspect).toBe(true);
  inFlight.end(older);
  expect(inFlight.suspect).toBe(false);
});

test('however many have come and gone, those that run are known in the order of their start', () => {
  const inFlight = new InFlight();
  const jobs = Array.from({ length: 100 }, (_, at) => job(`${at}`));
  for (const [at, one] of jobs.entries()) inFlight.start(one, at);
  for (const one of jobs.filter(({ id }) => Number(id) % 10 !== 3)) inFlight.end(one);
  expect(inFlight.claims().map(({ id }) => id)).toEqual(['3', '13', '23', '33', '43', '53', '63', '73', '83', '93']);
  expect(inFlight.oldestMs(100)).toBe(97);
  inFlight.stop([job('13')], (id) => new CancelledError(id));
  expect(inFlight.claims()).toHaveLength(9);
});

test('the oldest decides how long something has run', () => {
  const inFlight = new InFlight();
  const first = job('a');
  expect(inFlight.oldestMs(50)).toBe(0);
  inFlight.start(first, 10);
  inFlight.start(job('b'), 30);
  expect(inFlight.oldestMs(50)).toBe(40);
  inFlight.end(first);
  expect(inFlight.oldestMs(50)).toBe(20);
});

test('those told to stop are not asked about again', () => {
  const inFlight = new InFlight();
  inFlight.start(job('a'), 0);
  inFlight.start(job('b'), 0);
  inFlight.stop([job('a'), job('unknown')], (id) => new CancelledError(id));
  expect(inFlight.claims().map(({ id }) => id)).toEqual(['b']);
});

test('an older claim of the same job, told to stop, leaves the newer one alone', () => {
  const inFlight = new InFlight();
  const stopper = inFlight.start(job('a', 't2'), 0);
  inFlight.stop([job('a', 't1')], (id) => new CancelledError(id));
  expect(stopper.reason).toBeUndefined();
  inFlight.stop([job('a', 't2')], (id) => new CancelledError(id));
  expect(stopper.reason).toBeInstanceOf(CancelledError);
});

test('a suspect is seen as such', () => {
  const inFlight = new InFlight();
  expect(inFlight.suspect).toBe(false);
  inFlight.start(job('a', 't', 2), 0);
  expect(inFlight.suspect).toBe(true);
});
