import { Duration, Size } from 'aws-cdk-lib';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { DEFAULTS, defineJob, NAME } from '../../functions/queue/contract.ts';
import type { WorkerProps } from '../../lib/index.ts';
import { DEFAULT_QUEUE, QUEUE_NAME } from '../../lib/workers/check-workers.ts';
import { planWorkers } from '../../lib/workers/worker-plan.ts';

const kind = (queue: string, timeoutSeconds = 30) => defineJob({ payload: z.unknown(), queue, timeoutSeconds });
const contracts = {
  'mail.send': kind('default'),
  'report.build': kind('reports', 600),
  'report.send': kind('reports'),
  'image.resize': kind('images', 60),
};
const plan = (workers: Record<string, WorkerProps>, pickup: 'second' | 'instant' | 'minute' = 'second') =>
  planWorkers(workers, contracts, pickup);

test('without any, the worker default serves everything and need not be told what', () => {
  expect(plan({})).toMatchObject([
    {
      name: 'default',
      id: 'Work',
      alone: true,
      queues: ['default', 'reports', 'images'],
      concurrency: 10,
      transactions: 2,
      max: 1,
    },
  ]);
  const [{ memory, timeout }] = plan({});
  expect([memory.toMebibytes(), timeout.toSeconds()]).toEqual([256, 670]);
});

describe('with workers for some queues', () => {
  const plans = plan({ reports: { queues: ['reports', 'exports'], memory: Size.gibibytes(2), max: 3 } });

  test('the worker default takes those that no other names', () => {
    expect(plans).toMatchObject([
      { name: 'default', id: 'Work', alone: false, queues: ['default', 'images'] },
      { name: 'reports', id: 'WorkReports', alone: false, queues: ['reports', 'exports'], max: 3 },
    ]);
  });

  test('each has the time that the longest kind of its own queues needs', () => {
    expect(plans.map(({ timeout }) => timeout.toSeconds())).toEqual([130, 670]);
  });
});

test('queues that no contract names can be given to the worker default', () => {
  expect(plan({ default: { queues: ['bulk', 'reports'], concurrency: 3 } })).toMatchObject([
    { id: 'Work', alone: false, queues: ['default', 'reports', 'images', 'bulk'], concurrency: 3 },
  ]);
});

test.each(['second', 'instant', 'minute'] as const)(
  'with pickup %s there is the time for a minute of claiming',
  (pickup) => {
    const [main] = plan({}, pickup);
    expect([main.pickup, main.timeout.toSeconds()]).toEqual([pickup, 670]);
  },
);

test.each<[Record<string, WorkerProps>, string]>([
  [
    { 'big reports': { queues: ['reports'] } },
    'that begin with a letter and do not end in "schedule", "logs" or "role", not "big reports"',
  ],
  [{ '2nd': { queues: ['reports'] } }, 'not "2nd": give the worker another name'],
  [{ ['a'.repeat(41)]: { queues: ['reports'] } }, 'a name must be at most 40 letters and digits'],
  [{ nightSchedule: { queues: ['reports'] } }, 'not "nightSchedule"'],
  [{ schedule1: { queues: ['reports'] } }, 'not "schedule1"'],
  [{ reports: { queues: ['reports'] }, Reports: { queues: ['images'] } }, '"Reports" is like "reports"'],
  [{ Default: { queues: ['reports'] } }, '"Default" is like "default"'],
  [{ reports: {} }, 'workers.reports.queues must name at least one queue'],
  [{ reports: { queues: [] } }, 'workers.reports.queues must name at least one queue'],
  [
    { reports: { queues: ['my reports'] } },
    'workers.reports.queues: a queue must match ^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$, not "my reports"',
  ],
  [
    { reports: { queues: ['reports'] }, late: { queues: ['reports'] } },
    'workers.late.queues: the queue "reports" must have one worker, and "reports" serves it already: leave it out of one of them',
  ],
  [{ reports: { queues: ['reports', 'reports'] } }, 'the queue "reports" must have one worker'],
  [
    { reports: { queues: ['reports'] }, default: { queues: ['reports'] } },
    'workers.default.queues: the queue "reports" must have one',
  ],
  [
    { mail: { queues: ['default'] } },
    'workers.mail.queues: the queue "default" must have one worker, and "default" serves it already',
  ],
  [
    { reports: { queues: ['reports'], timeout: Duration.minutes(5) } },
    'workers.reports.timeout must be at least 610 s, not 300 s: a job of kind "report.build" may take 600 s',
  ],
  [{ default: { timeout: Duration.minutes(5) } }, 'workers.default.timeout must be at least 610 s, not 300 s'],
  [
    { default: { memory: Size.mebibytes(64) } },
    'workers.default.memory (MiB) must be a whole number from 128 to 10240, not 64',
  ],
  [{ default: { concurrency: 0 } }, 'workers.default.concurrency must be a whole number from 1 to 1000, not 0'],
  [{ default: { concurrency: 1.5 } }, 'workers.default.concurrency must be a whole number from 1 to 1000, not 1.5'],
  [{ default: { transactions: -1 } }, 'workers.default.transactions must be a whole number from 0 to 100, not -1'],
  [{ default: { max: 0 } }, 'workers.default.max must be a whole number from 1 to 100, not 0'],
])('%j is refused', (workers, sentence) => {
  expect(() => plan(workers)).toThrow(sentence);
});

test('a timeout need not fit kinds of other queues', () => {
  const plans = plan({ default: { timeout: Duration.minutes(2) }, reports: { queues: ['reports'] } });
  expect(plans.map(({ timeout }) => timeout.toSeconds())).toEqual([120, 670]);
});

test('queues are named as the engine has it', () => {
  expect([QUEUE_NAME, DEFAULT_QUEUE]).toEqual([NAME, DEFAULTS.queue]);
});
