import { Aws, Stack } from 'aws-cdk-lib';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { type ConnectionUsers, connectionEstimate, warnOfConnections } from '../../lib/database/connection-estimate.ts';
import { maxConnectionsOf } from '../../lib/database/instance-memory.ts';
import { JobDatabase } from '../../lib/index.ts';
import { synthesize } from './synthesize.ts';

const worker = { name: 'default', max: 1, timeoutSeconds: 120, transactions: 2 };
const usual: ConnectionUsers = { apiBurst: 50, workers: [worker], migrates: true, rotates: true, maxConnections: 79 };

test('the sum is spelled out', () => {
  expect(connectionEstimate(usual)).toEqual({
    total: 62,
    maxConnections: 79,
    fits: true,
    sentence:
      'Up to 62 connections at once (50 API requests + 6 of worker default (1 a minute × 2 overlapping × 3 each) + 1 reaper + ' +
      '1 migration + 1 rotation + 3 reserve); the database takes about 79.',
  });
});

test.each<[string, Partial<ConnectionUsers>, number]>([
  ['no API', { apiBurst: undefined }, 12],
  ['a run of a minute does not meet the next', { workers: [{ ...worker, timeoutSeconds: 60 }] }, 59],
  ['one of 61 s does', { workers: [{ ...worker, timeoutSeconds: 61 }] }, 62],
  ['one of 15 minutes meets 14 others', { workers: [{ ...worker, timeoutSeconds: 900 }] }, 101],
  ['three a minute', { workers: [{ ...worker, max: 3 }] }, 74],
  ['requests that wake a worker', { wakes: true }, 65],
  ['requests that wake two', { wakes: true, workers: [worker, { ...worker, name: 'reports', transactions: 0 }] }, 68],
  ['no transactions', { workers: [{ ...worker, transactions: 0 }] }, 58],
  ['two workers', { workers: [worker, { ...worker, name: 'reports' }] }, 68],
  ['nobody migrates, nothing is rotated', { migrates: false, rotates: false }, 60],
])('%s', (_, own, total) => {
  const { sentence, ...estimate } = connectionEstimate({ ...usual, ...own });
  expect(estimate.total).toBe(total);
  expect(sentence).toContain(`Up to ${total} connections at once`);
  expect(sentence).not.toMatch(/\b0 /);
});

test.each([
  [62, true],
  [61, false],
  [undefined, undefined],
])('with %s connections, that they fit is %s', (maxConnections, fits) => {
  expect(connectionEstimate({ ...usual, maxConnections }).fits).toBe(fits);
});

test.each([
  [62, 0],
  [61, 1],
  [undefined, 0],
])('with %s connections there are %i warnings', (maxConnections, warnings) => {
  const stack = new Stack();
  const estimate = connectionEstimate({ ...usual, maxConnections });
  warnOfConnections(stack, estimate);
  const found = Annotations.fromStack(stack).findWarning(
    '*',
    Match.stringLikeRegexp('Up to 62 connections at once.*Take a larger'),
  );
  expect(found).toHaveLength(warnings);
});

/** Read in servers by users: 2 GiB 198, 4 GiB 413, 8 GiB 856, 15.25 GiB 1,660. The formula without what others take: 225 to 1,718. */
test.each([
  ['db.t4g.micro', 79],
  ['db.t3.small', 192],
  ['db.t4g.medium', 417],
  ['db.m7g.large', 856],
  ['db.r8g.large', 1712],
  ['db.r6gd.xlarge', 3424],
  ['db.m6g.2xlarge', 3424],
  ['db.c6gd.xlarge', 856],
  ['db.r5.24xlarge', 5000],
])('%s takes about %i', (instanceClass, connections) => {
  expect(maxConnectionsOf([instanceClass])).toBe(connections);
});

test('of a cluster its smallest instance counts, which may be the writer tomorrow', () => {
  expect(maxConnectionsOf(['db.r8g.xlarge', 'db.t4g.medium', 'db.r8g.large'])).toBe(417);
});

test.each([[[]], [['db.serverless']], [['db.q9.large']], [['db.m7g.large', 'db.serverless']], [[Aws.REGION]]])(
  'what is unknown is not guessed: %o',
  (classes) => {
    expect(maxConnectionsOf(classes)).toBeUndefined();
  },
);

test('a queue says what it may open', () => {
  expect(synthesize().queue.connectionEstimate).toBe(connectionEstimate(usual).sentence);
});

test('a queue whose requests wake workers counts these', () => {
  const { queue } = synthesize(() => ({ pickup: 'instant' }));
  expect(queue.connectionEstimate).toContain('(50 API requests + 3 of workers that they wake + ');
});

test('a queue is measured against what its owner says the database takes', () => {
  synthesize(
    () => ({ database: JobDatabase.newInstance({ maxConnections: 40 }) }),
    ({ connectionEstimate: sentence }, stack) => {
      expect(sentence).toMatch(/the database takes about 40\.$/);
      expect(Annotations.fromStack(stack).findWarning('*', Match.stringLikeRegexp('takes about 40'))).toHaveLength(1);
    },
  );
});
