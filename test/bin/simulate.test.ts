import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readArguments } from '../../bin/simulate/arguments.ts';
import { PARAMETERS, profileOf } from '../../bin/simulate/profile.ts';
import { reportOf } from '../../bin/simulate/report.ts';
import { resultOf } from '../../bin/simulate/result.ts';
import { LOADS, PARAMETER_LIST, parametersOf, TABLE, TABLE_FILE, tableOf } from '../../bin/simulate/table.ts';
import { DEFAULTS } from '../../functions/queue/contract.ts';
import { planWorkers } from '../../lib/workers/worker-plan.ts';

const simulated = (flags: string) => resultOf(readArguments(flags.split(' ')).options);

test('the table of the docs is what its command prints', { timeout: 120_000 }, () => {
  const written = rowsOf(between(TABLE));
  expect(written.length).toBe(2 + LOADS.flatMap(({ pickups }) => pickups).length);
  // The large ones take ten seconds.
  expect(written).toEqual(expect.arrayContaining(rowsOf(tableOf(LOADS.filter(({ large }) => !large)))));
});

test('the docs list the parameters with their defaults', () => {
  expect(rowsOf(between(PARAMETER_LIST))).toEqual(rowsOf(parametersOf()));
});

/** The cells, without what the formatter makes of them. */
function rowsOf(table: string): string[][] {
  return table
    .trim()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim().replace(/^-+(:?)$/, '---$1')));
}

test('a profile is the construct with nothing set but pickup', () => {
  const [{ max, concurrency, memory, transactions, timeout }] = planWorkers({}, {}, 'second');
  expect(profileOf('second')).toMatchObject({
    slots: max,
    concurrency,
    transactions,
    memory: memory.toMebibytes(),
    timeout: timeout.toSeconds(),
    'job-timeout': DEFAULTS.timeoutSeconds,
    attempts: DEFAULTS.maxAttempts,
  });
});

test('the same seed gives the same numbers, another one others', () => {
  const flags = '--trace poisson:3 --for 5m --fail 0.1 --job-spread 0.5';
  expect(simulated(flags)).toEqual(simulated(flags));
  expect(simulated(`${flags} --seed 2`)).not.toEqual(simulated(flags));
});

describe('what the project promises of cost', () => {
  test('at most $0.10 for a million jobs of 100 ms, ten at once, when there is much to do', () => {
    const { dollars, jobs } = simulated('--trace poisson:80 --for 10m');
    expect(jobs.completed).toBeGreaterThan(40_000);
    expect(dollars.aMillion).toBeLessThanOrEqual(0.1);
  });

  test('at most $0.50 a month with instant and next to nothing to do', () => {
    const { dollars, jobs } = simulated('--trace day:10 --profile instant --for 2d');
    expect(jobs.completed).toBeGreaterThan(5);
    expect(dollars.aMonth).toBeLessThanOrEqual(0.5);
  });
});

describe('what the engine decides', () => {
  test('a job finds the run that lingers within a poll; with instant it waits for its worker to start, with minute for a tick', () => {
    const p99 = (profile: string) => simulated(`--trace poisson:0.05 --for 2h --profile ${profile}`).pickupSeconds.p99;
    expect(p99('second')).toBeLessThan(0.12);
    expect(p99('instant')).toBeLessThan(0.3);
    expect(p99('minute')).toBeGreaterThan(30);
  });

  test('a thousand jobs at once wake one worker, and the other slots come with their ticks as far as they are needed', () => {
    const { workers, jobs } = simulated('--trace burst:1000 --for 5m --profile instant --slots 8');
    expect(workers.wakes).toBe(1);
    expect(jobs.completed).toBe(1000);
    expect(workers.most).toBeGreaterThan(1);
    expect(workers.most).toBeLessThan(8);
    expect(workers.endings.unneeded).toBeGreaterThan(20);
  });

  test('a slot that lingers is relieved by the next tick, and a doubled tick leaves', () => {
    const { workers } = simulated('--trace poisson:1 --for 1h --doubled 1');
    expect(workers.ticks).toBe(60);
    expect(workers.endings.held).toBe(60);
    expect(workers.endings.relieved).toBeGreaterThanOrEqual(59);
  });

  test('failed attempts are retried until none is left', () => {
    const { jobs } = simulated('--trace burst:200 --for 4h --fail 0.5 --attempts 2');
    expect(jobs.retried).toBeGreaterThan(60);
    expect(jobs.completed + jobs.dead).toBe(200);
  });

  test('whatever a dead sandbox held is reaped and done', () => {
    const { jobs, workers } = simulated(
      '--trace burst:2000 --for 1h --deaths 60 --job-ms 2000 --slots 3 --attempts 50',
    );
    expect(workers.endings.died).toBeGreaterThan(3);
    expect(jobs.reaped).toBeGreaterThan(10);
    expect(jobs).toMatchObject({ completed: 2000, dead: 0, unfinished: 0 });
  });

  test('nothing is claimed that could not be finished, so nothing is given back', () => {
    const { jobs, workers } = simulated('--trace burst:100 --for 1h --job-ms 25000 --attempts 1 --profile minute');
    expect(workers.endings.relieved).toBeGreaterThan(0);
    expect(jobs).toMatchObject({ completed: 100, released: 0, unfinished: 0 });
  });
});

describe('limits', () => {
  test('a database that takes no more connections refuses runs, which try again', () => {
    const { database } = simulated('--trace burst:5000 --for 5m --slots 10 --database-connections 2');
    expect(database.connections).toBe(2);
    expect(database.refused).toBeGreaterThan(0);
  });

  test('an account that runs no more functions drops ticks', () => {
    const { workers } = simulated('--trace burst:5000 --for 5m --slots 10 --account-concurrency 2');
    expect(workers.most).toBe(2);
    expect(workers.throttled).toBeGreaterThan(0);
  });

  test('a slow database is what jobs wait for', () => {
    const waits = (ms: number) => simulated(`--trace burst:2000 --for 10m --settle-ms ${ms}`).totalSeconds.p50;
    expect(waits(100)).toBeGreaterThan(1.5 * waits(0.5));
  });
});

describe('SQS + Lambda', () => {
  test('a quiet queue has a batch for each message; one that cannot keep up has full ones', () => {
    const each = ({ sqs }: ReturnType<typeof simulated>) => sqs.completed / sqs.invocations;
    expect(each(simulated('--trace poisson:2 --for 10m'))).toBeCloseTo(1, 1);
    expect(each(simulated('--trace burst:5000 --for 10m'))).toBeGreaterThan(9);
  });

  test('costs a request to send, one to receive and one to delete, and the polls of an empty queue', () => {
    const { sqs } = simulated('--trace burst:1 --for 1h --sqs-pollers 2');
    expect(sqs.requests).toBe(3 + (2 * 3600) / 20);
  });

  test('a window makes fewer and larger batches', () => {
    const invocations = (ms: number) => simulated(`--trace poisson:50 --for 5m --sqs-window-ms ${ms}`).sqs.invocations;
    expect(invocations(500)).toBeLessThan(0.3 * invocations(0));
  });
});

test('the report says the percentiles, the cost and what is beside it', () => {
  const report = reportOf(simulated('--trace poisson:1 --for 10m'));
  expect(report).toMatch(/^\d+ jobs in 600 s +millrace +SQS \+ Lambda$/m);
  expect(report).toMatch(/^enqueue to start, p99 +\d+ ms +\d+ ms$/m);
  expect(report).toMatch(/^\$ a month +[\d.]+ +[\d.]+$/m);
  expect(report).toMatch(/statements a second/);
});

describe('flags', () => {
  test.each([
    ['', /--trace must be given: poisson/],
    ['--trace weekly:3', /--trace must be poisson.*not "weekly:3"/],
    ['--trace poisson:-1', /numbers above 0, not "poisson:-1"/],
    ['--trace poisson:1 --profile hour', /--profile must be second, instant, minute, not "hour"/],
    ['--trace poisson:1 --for 3', /--for must be a time such as 90s.*not "3"/],
    ['--trace poisson:1 --slots 1.5', /--slots must be a whole number from 1, not "1.5"/],
    ['--trace poisson:1 --fail x', /--fail must be a number from 0, not "x"/],
  ])('"%s" is refused', (flags, message) => {
    expect(() => readArguments(flags.split(' ').filter(Boolean))).toThrow(message);
  });

  test('every parameter is one', () => {
    for (const name of Object.keys(PARAMETERS)) {
      const { options } = readArguments(['--trace', 'poisson:1', `--${name}`, '3']);
      expect(options.profile).toMatchObject({ [name]: 3 });
    }
  });
});

function between(place: RegExp): string {
  const [found = '', before = '', after = ''] = place.exec(readFileSync(TABLE_FILE, 'utf8')) ?? [];
  return found.slice(before.length, -after.length).trim();
}
