import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { inDatabase } from '../support/database.ts';
import { test as base, inject } from '../support/fixtures.ts';
import { type Pgbouncer, startPgbouncer } from '../support/pgbouncer.ts';

/** `pooler`: a PgBouncer of this file alone, which may be stopped and paused. `pooledUrl`: this test's database by way of it. */
export const test = base
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  .extend('pooler', { scope: 'file' }, async ({}, { onCleanup }): Promise<Pgbouncer> => {
    const pooler = await startPgbouncer(inject('serverUrl'));
    onCleanup(() => pooler.stop());
    return pooler;
  })
  .extend('pooledUrl', async ({ pooler, own }) => inDatabase(pooler.url, databaseOf(own.directUrl)));

export function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

export const kind = 'test.kind';
export const contracts = {
  [kind]: defineJob({
    payload: z.looseObject({}),
    timeoutSeconds: 20,
    maxAttempts: 20,
    backoff: { baseSeconds: 1, capSeconds: 1 },
  }),
};
