import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { expect, test as plain } from 'vitest';
import { type Fault, faultOf } from '../../functions/queue/postgres-error.ts';
import { startPostgres } from '../../local/postgres.ts';
import { until } from '../lifecycle/ground.ts';
import { openClient } from '../support/database.ts';
import { type Meaning, meaningOf, said } from './said.ts';

/** A server of its own, that has six connections. */
const test = plain.extend(
  'server',
  { scope: 'file' }, // biome-ignore lint/correctness/noEmptyPattern: vitest reads the dependencies of a fixture from this pattern
  async ({}, { onCleanup }) => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-errors-'));
    const settings = { max_connections: '6', superuser_reserved_connections: '0', fsync: 'off' };
    let running = await startPostgres({ directory, settings });
    const port = Number(new URL(running.url).port);
    onCleanup(async () => {
      await running.stop();
      await rm(directory, { recursive: true, force: true });
    });
    return {
      url: running.url,
      /** To the postmaster. */
      signal: (name: NodeJS.Signals) => process.kill(running.pid, name),
      startAgain: async () => {
        await running.ended;
        await running.stop();
        running = await startPostgres({ directory, settings, port });
      },
    };
  },
);

test('a server that has no connection left: 53300', async ({ server }) => {
  const open: pg.Client[] = [];
  const error = await until(() =>
    openClient(server.url).then(
      (client) => void open.push(client),
      (cause) => cause,
    ),
  );
  expect(open.length).toBeLessThanOrEqual(6);
  expect(meaningOf(error)).toEqual(['53300', 'lost']);
  await Promise.all(open.map((client) => client.end()));
});

test.for<[string, NodeJS.Signals, Meaning]>([
  // It waits for those who are there, and takes in nobody else.
  ['smart', 'SIGTERM', ['57P03', 'lost']],
  ['fast', 'SIGINT', ['57P01', 'lost']],
  // No word of it but a warning, and the connection ends.
  ['immediate', 'SIGQUIT', [undefined, 'lost']],
])(
  'that shuts down, %s; and whoever comes until it is up again, loses no more than a connection',
  async ([mode, signal, expected], { server }) => {
    const client = await openClient(server.url);
    const sleeping = said(client.query('SELECT pg_sleep(20)'));
    if (mode === 'smart') {
      const other = await openClient(server.url);
      server.signal(signal);
      const refused = await until(() =>
        openClient(server.url).then(
          (late) => void late.end(),
          (error) => error,
        ),
      );
      expect(meaningOf(refused)).toEqual(expected);
      expect((await other.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }]);
      await other.end();
      server.signal('SIGINT');
      await sleeping;
    } else {
      server.signal(signal);
      expect(await sleeping).toEqual(expected);
    }
    const met = new Set<Fault>();
    const back = server.startAgain();
    const again = await until(() =>
      openClient(server.url).catch((error) => {
        met.add(faultOf(error));
        return undefined;
      }),
    );
    await back;
    expect([...met]).toEqual(['lost']);
    await again.end();
  },
);
