import { expect, test } from 'vitest';
import {
  CancelledError,
  ClaimLostError,
  DeadlineError,
  DrainError,
  PermanentError,
  RetryAfter,
  Snooze,
} from '../../functions/queue/errors.ts';
import { type Circumstances, type Ending, judge } from '../../functions/queue/judge.ts';

const calm: Circumstances = {
  stopReason: undefined,
  transaction: 'unused',
  attempt: 2,
  startedAt: new Date(0),
  failedAt: new Date(0),
  where: 'here',
};
const returned: Ending = { kind: 'returned', value: { ok: true } };
const abandoned: Ending = { kind: 'abandoned' };
const threw = (thrown: unknown): Ending => ({ kind: 'threw', thrown });
const boom = threw(new Error('boom'));
const changed = (error: Error, seconds: PropertyDescriptor) => Object.defineProperty(error, 'seconds', seconds);
const fail = () => {
  throw new Error('trap');
};

const deadline = { stopReason: new DeadlineError('ran longer than its 5 s') };
const cancelled = { stopReason: new CancelledError('cancel') };
const drained = { stopReason: new DrainError('drain') };
const taken = { stopReason: new ClaimLostError('taken') };

test.each([
  ['a result', returned, {}, { kind: 'succeeded', result: { ok: true } }],
  ['nothing returned is null', { kind: 'returned', value: undefined }, {}, { kind: 'succeeded', result: null }],
  ['a result after the deadline, within the grace', returned, deadline, { kind: 'succeeded' }],
  ['a result though cancelled: completion wins', returned, cancelled, { kind: 'succeeded' }],
  ['a result of a claim that was taken', returned, taken, { kind: 'lost' }],
  ['an error', boom, {}, { kind: 'failed', permanent: false, error: { name: 'Error', message: 'boom', attempt: 2 } }],
  [
    'PermanentError',
    threw(new PermanentError('no')),
    {},
    { kind: 'failed', permanent: true, error: { message: 'no' } },
  ],
  ['RetryAfter', threw(new RetryAfter(9)), {}, { kind: 'failed', permanent: false, retryAfterSeconds: 9 }],
  ['Snooze', threw(new Snooze(60)), {}, { kind: 'snoozed', seconds: 60 }],
  ['Snooze whose seconds were changed', threw(changed(new Snooze(1), { value: Infinity })), {}, { kind: 'failed' }],
  ['RetryAfter likewise', threw(changed(new RetryAfter(1), { value: {} })), {}, { kind: 'failed', permanent: false }],
  ['Snooze whose seconds throw', threw(changed(new Snooze(1), { get: fail })), {}, { kind: 'failed' }],
  [
    'PermanentError in a drain is of its own will',
    threw(new PermanentError('no')),
    drained,
    { kind: 'failed', permanent: true },
  ],
  ['Snooze in a drain is of its own will', threw(new Snooze(60)), drained, { kind: 'snoozed' }],
  ['any other error in a drain is the drain', boom, drained, { kind: 'stopped' }],
  ['any other error after a cancel request is the cancel', boom, cancelled, { kind: 'stopped' }],
  ['given up in a drain', abandoned, drained, { kind: 'stopped' }],
  ['given up after a cancel request', abandoned, cancelled, { kind: 'stopped' }],
  ['given up after its claim was taken', abandoned, taken, { kind: 'lost' }],
  [
    'the signal rethrown at the deadline',
    threw(deadline.stopReason),
    deadline,
    { kind: 'failed', error: { name: 'DeadlineError', message: 'ran longer than its 5 s' } },
  ],
  [
    'another error at the deadline',
    boom,
    deadline,
    { kind: 'failed', error: { name: 'DeadlineError', message: 'ran longer than its 5 s; cause: boom' } },
  ],
  [
    'given up at the deadline',
    abandoned,
    deadline,
    { kind: 'failed', permanent: false, error: { name: 'DeadlineError' } },
  ],
  ['committed, whatever was thrown since', boom, { transaction: 'committed' }, { kind: 'committed' }],
  ['committed as its claim seemed taken', returned, { ...taken, transaction: 'committed' }, { kind: 'committed' }],
  ['its transaction found the claim taken', returned, { transaction: 'lost' }, { kind: 'lost' }],
  ['a COMMIT of unknown fate', boom, { transaction: 'unknown' }, { kind: 'lost' }],
  [
    'a transaction rolled back and its error thrown',
    boom,
    { transaction: 'rolled back' },
    { kind: 'failed', permanent: false },
  ],
  ['a transaction rolled back and its error caught', returned, { transaction: 'rolled back' }, { kind: 'succeeded' }],
] satisfies [string, Ending, Partial<Circumstances>, object][])('%s', (_, ending, at, outcome) => {
  expect(judge(ending as Ending, { ...calm, ...(at as Partial<Circumstances>) })).toMatchObject(outcome);
});

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each([
  ['a cycle', cycle, /\/self .*cycle/],
  ['a BigInt', { n: 1n }, /\/n .*bigint/],
  ['a NUL', { text: 'a\0b' }, /\/text .*NUL/],
  ['half a surrogate pair', ['\ud800'], /\/0 .*surrogate/],
  ['more than 256 KiB', 'x'.repeat(262_144), /262144 bytes/],
  [
    'a toJSON that throws',
    {
      toJSON: () => {
        throw new Error('no');
      },
    },
    /toJSON threw/,
  ],
])('a result that jsonb cannot hold fails for good, with a sentence: %s', (_, value, message) => {
  expect(judge({ kind: 'returned', value }, calm)).toMatchObject({
    kind: 'failed',
    permanent: true,
    error: { name: 'UnstorableError', message: expect.stringMatching(message) },
  });
});

test('text that only looks like an escape is kept', () => {
  const value = { path: 'C:\\u0000\\ud800' };
  expect(judge({ kind: 'returned', value }, calm)).toEqual({ kind: 'succeeded', result: value });
});

test('a hostile Proxy is an error like any other', () => {
  const hostile = new Proxy(
    {},
    {
      getPrototypeOf: () => {
        throw new Error('trap');
      },
    },
  );
  expect(judge(threw(hostile), calm)).toMatchObject({ kind: 'failed', permanent: false });
});
