import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { wreakHavoc } from '../../local/demo/chaos.ts';
import { readDeliveries } from '../../local/demo/deliveries.ts';
import { openProgress } from '../../local/demo/progress.ts';
import { seeded } from '../../local/demo/random.ts';
import { summaryOf } from '../../local/demo/summary.ts';
import { counted, createTally, differences, tallyOf } from '../../local/demo/tally.ts';
import { processingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

test('the package holds 329 deliveries, each with an event, most with a repository', () => {
  const deliveries = readDeliveries();
  expect(deliveries).toHaveLength(329);
  expect(new Set(deliveries.map(({ event }) => event)).size).toBe(58);
  expect(deliveries.filter(({ repository }) => repository === undefined)).toHaveLength(49);
});

describe('the tally', () => {
  test('is read per run, largest line first', async ({ db }) => {
    await createTally(db);
    await createTally(db);
    await db.query(
      `INSERT INTO public.webhook_tally VALUES ('a', 'push', 'o/r', 1), ('a', 'issues', '', 3), ('b', 'push', 'o/r', 9)`,
    );
    expect(await counted(db, 'a')).toBe(4);
    expect(await counted(db, 'c')).toBe(0);
    expect(await tallyOf(db, 'a')).toEqual([
      { event: 'issues', repository: '', deliveries: 3 },
      { event: 'push', repository: 'o/r', deliveries: 1 },
    ]);
  });

  test('differs where a line is short, double, missing or foreign', () => {
    const push = { event: 'push', repository: 'o/r', body: {} };
    const ping = { event: 'ping', repository: undefined, body: {} };
    const exact = [
      { event: 'push', repository: 'o/r', deliveries: 2 },
      { event: 'ping', repository: '', deliveries: 1 },
    ];
    expect(differences([push, ping, push], exact)).toEqual([]);
    expect(differences([push, ping], exact)).toEqual([{ event: 'push', repository: 'o/r', enqueued: 1, counted: 2 }]);
    expect(differences([push, push], exact)).toEqual([{ event: 'ping', repository: '', enqueued: 0, counted: 1 }]);
    expect(differences([push, push, ping], exact.slice(0, 1))).toEqual([
      { event: 'ping', repository: '', enqueued: 1, counted: 0 },
    ]);
  });

  test('a difference is said, and what is exact too', () => {
    const result = {
      seconds: 2,
      kills: 0,
      standing: { states: { completed: 2 }, furtherAttempts: 1, reaps: 0, diedOf: undefined },
      tally: [{ event: 'push', repository: 'o/r', deliveries: 2 }],
      differences: [],
    };
    expect(summaryOf(result, 2).join('\n')).toContain('exact: all 2 deliveries are counted once');
    const short = { ...result, differences: [{ event: 'push', repository: 'o/r', enqueued: 3, counted: 2 }] };
    expect(summaryOf(short, 3).join('\n')).toContain('push  o/r: 3 enqueued, 2 counted');
  });
});

test('chaos kills a worker only while it has jobs at work, and none twice', async ({ db }) => {
  const workers = [1, 2].map(() => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']));
  const pids = workers.map(({ pid }) => pid ?? 0);
  const ends = workers.map((worker) => new Promise((resolve) => worker.once('exit', (_, signal) => resolve(signal))));
  const killed: [number, number][] = [];
  const over = new AbortController();
  const havoc = wreakHavoc(db, {
    kills: 2,
    random: () => 0,
    workers: async () => pids,
    onKill: (pid, jobs) => killed.push([pid, jobs]),
    signal: over.signal,
  });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(killed).toEqual([]);
  const token = crypto.randomUUID();
  const claim = await db.connect();
  await claim.query('BEGIN');
  for (let n = 0; n < 2; n += 1) await processingJob(claim, { kind: 'github.webhook', token });
  await claim.query('COMMIT');
  claim.release();
  await expect.poll(() => killed, { timeout: 5000 }).toEqual([[pids[0], 2]]);
  // The same claim is what the dead one left: it says nothing of the other.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(killed).toHaveLength(1);
  await processingJob(db, { kind: 'github.webhook' });
  expect(await havoc).toBe(2);
  expect(killed[1]).toEqual([pids[1], 1]);
  expect(await Promise.all(ends)).toEqual(['SIGKILL', 'SIGKILL']);
});

test('a seed repeats its numbers, which are spread over 0 to 1', () => {
  const [a, b, c] = [seeded(7), seeded(7), seeded(8)];
  const numbers = Array.from({ length: 1000 }, a);
  expect(Array.from({ length: 1000 }, b)).toEqual(numbers);
  expect(c()).not.toBe(numbers[0]);
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...numbers)).toBeLessThan(1);
  expect(numbers.reduce((sum, n) => sum + n) / 1000).toBeCloseTo(0.5, 1);
});

test('where there is no terminal, progress is a plain line', () => {
  const out = new PassThrough();
  const progress = openProgress(3, out as unknown as NodeJS.WriteStream);
  progress.enqueued(3);
  progress.completed(1);
  progress.line('SIGKILL');
  progress.stop();
  expect(out.read().toString()).toBe('SIGKILL\nenqueued 3/3, completed 1/3\n');
});
