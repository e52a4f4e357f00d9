import { expect, test } from 'vitest';
import { decide } from '../../functions/queue/decide.ts';
import type { Outcome } from '../../functions/queue/outcome.ts';

const error = { attempt: 2, name: 'Error', message: 'boom' };
const failed: Outcome = { kind: 'failed', error, permanent: false };
const second = { attempts: 2, maxAttempts: 5 };
const last = { attempts: 5, maxAttempts: 5 };

test.each([
  ['a result', { kind: 'succeeded', result: { sent: 1 } }, second, { kind: 'complete', result: { sent: 1 } }],
  ['a result of the last attempt', { kind: 'succeeded', result: 1 }, last, { kind: 'complete', result: 1 }],
  ['an error', failed, second, { kind: 'retry', error, delaySeconds: 20 }],
  ['an error of the last attempt', failed, last, { kind: 'bury', error }],
  ['an error of more attempts than allowed', failed, { attempts: 6, maxAttempts: 5 }, { kind: 'bury', error }],
  ['a permanent error', { ...failed, permanent: true }, second, { kind: 'bury', error }],
  ['RetryAfter', { ...failed, retryAfterSeconds: 7 }, second, { kind: 'retry', error, delaySeconds: 7 }],
  ['RetryAfter of 0 seconds', { ...failed, retryAfterSeconds: 0 }, second, { kind: 'retry', error, delaySeconds: 0 }],
  ['RetryAfter in the last attempt', { ...failed, retryAfterSeconds: 7 }, last, { kind: 'bury', error }],
  ['Snooze', { kind: 'snoozed', seconds: 60 }, second, { kind: 'release', delaySeconds: 60 }],
  ['Snooze in the last attempt', { kind: 'snoozed', seconds: 60 }, last, { kind: 'release', delaySeconds: 60 }],
  ['a stop', { kind: 'stopped' }, last, { kind: 'release', delaySeconds: 0 }],
  ['a committed transaction', { kind: 'committed' }, second, { kind: 'none' }],
  ['a lost claim', { kind: 'lost' }, second, { kind: 'none' }],
] satisfies [string, Outcome, object, object][])('%s', (_, outcome, job, settlement) => {
  expect(decide(outcome as Outcome, job, (attempts) => attempts * 10)).toEqual(settlement);
});
