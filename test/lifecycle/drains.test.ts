import { expect, inject, test } from '../support/fixtures.ts';
import { busyRun } from './busy-run.ts';

const RUNS = 10;

// All that there is to it is in the worker; a thousand of them: node test/lifecycle/drains.ts
test.skipIf(inject('postgresMajor') === 15 || inject('pooled'))(
  'runs that are busy to their end have ended two seconds before their hard timeout, with everything settled',
  async ({ db, databaseUrl }) => {
    const runs = Array.from({ length: RUNS }, (_, n) => busyRun(db, databaseUrl, `run-${n}`));
    for (const { leftMs, summary } of await Promise.all(runs)) {
      expect(leftMs).toBeGreaterThanOrEqual(2_000);
      expect(summary).toMatchObject({ reason: 'deadline', unsettled: 0, overtaken: 0 });
      expect(summary.claimed, 'as many as it may at once').toBeGreaterThanOrEqual(10);
    }
    // Nothing was left to its lease.
    expect((await db.query(`SELECT FROM millrace.live_jobs WHERE status = 'processing'`)).rowCount).toBe(0);
  },
);
