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
  inFlight.stop(['a', 'unknown'], (id) => new CancelledError(id));
  expect(inFlight.claims().map(({ id }) => id)).toEqual(['b']);
});

test('a suspect is seen as such', () => {
  const inFlight = new InFlight();
  expect(inFlight.suspect).toBe(false);
  inFlight.start(job('a', 't', 2), 0);
  expect(inFlight.suspect).toBe(true);
});
