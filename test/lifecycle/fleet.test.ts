import { expect, inject, test } from '../support/fixtures.ts';
import { drainFleet } from './drain-fleet.ts';

const FLEET = { workers: 4, jobs: 2_000, concurrency: 10, transactions: 2 };

// With eight workers and 50,000 jobs: node test/lifecycle/fleet.ts
test.skipIf(inject('postgresMajor') === 15 || inject('pooled'))(
  'workers that drain a queue together do each job once, in batches, over no more connections than they may have',
  async ({ own: { pool: db, url } }) => {
    const { workers, commits, connectionsAtOnce, jobs, effects } = await drainFleet(db, url, FLEET);
    expect(jobs).toEqual({ completed: FLEET.jobs, firstAttempts: FLEET.jobs });
    expect(effects).toEqual({ all: FLEET.jobs / 20, jobs: FLEET.jobs / 20 });
    const sum = (count: 'claimed' | 'completed' | 'claims') => workers.reduce((n, worker) => n + worker[count], 0);
    expect([sum('claimed'), sum('completed')]).toEqual([FLEET.jobs, FLEET.jobs]);
    for (const worker of workers) expect(worker).toMatchObject({ overtaken: 0, unsettled: 0, reason: 'emptied' });
    for (const { connections } of workers) expect(connections).toBeLessThanOrEqual(1 + FLEET.transactions);
    expect(connectionsAtOnce).toBeLessThanOrEqual(FLEET.workers * (1 + FLEET.transactions));
    // A claim and a settlement of ten jobs each, with room for those that are not full, and the effects.
    expect(sum('claims')).toBeLessThan(FLEET.jobs / 2);
    expect(commits).toBeLessThan(FLEET.jobs);
  },
);
