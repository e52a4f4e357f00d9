import { upkeep } from '../../functions/queue/upkeep.ts';
import { vitals } from '../../functions/queue/vitals.ts';
import { describe, expect, inject, openClient } from '../support/fixtures.ts';
import { test } from '../support/logins.ts';
import { layWide } from '../support/partitions.ts';

describe('vitals', () => {
  // A pooler opens connections as it sees fit.
  test.skipIf(inject('poolerUrl'))(
    'are told to readers and operators, and count the connections of everybody',
    async ({ own, loginAs }) => {
      const reader = await loginAs('reader');
      expect(await vitals((await loginAs('operator')).pool)).toMatchObject({ autovacuumOff: [] });
      const before = await vitals(reader.pool);
      expect(before).toEqual({
        postgresVersion: expect.stringMatching(/^1[5-9]\.\d+/),
        tls: null,
        connections: expect.any(Number),
        databaseConnections: expect.any(Number),
        maxConnections: expect.any(Number),
        xminAge: expect.any(Number),
        autovacuum: expect.any(Boolean),
        autovacuumOff: [],
        lastAutovacuumAt: null,
        deadRows: 0,
        partitionDaysAhead: expect.any(Number),
      });
      const others = await Promise.all([1, 2, 3].map(() => openClient(own.directUrl)));
      const after = await vitals(reader.pool);
      expect(after.databaseConnections).toBe(before.databaseConnections + 3);
      expect(after.connections).toBeGreaterThanOrEqual(after.databaseConnections);
      await Promise.all(others.map((client) => client.end()));
    },
  );

  test('name the tables that are not vacuumed', async ({ own: { pool } }) => {
    await pool.query('ALTER TABLE millrace.live_jobs SET (autovacuum_enabled = off)');
    await pool.query('ALTER TABLE millrace.dead_jobs SET (autovacuum_enabled = on)');
    expect((await vitals(pool)).autovacuumOff).toEqual(['live_jobs']);
  });

  test('count the days that have a partition, of the table that has fewer', async ({ own: { pool } }) => {
    const ahead = async () => (await vitals(pool)).partitionDaysAhead;
    expect(await ahead()).toBeGreaterThan(2);
    await upkeep(pool, { keepDays: 7, aheadDays: 6 });
    expect(await ahead()).toBeGreaterThan(5);
    await layWide(pool, 'payloads');
    expect(await ahead()).toBe(0);
  });
});
