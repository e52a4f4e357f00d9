import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { contracts } from '../../examples/processors/contracts.ts';
import { placeOrder } from '../../examples/processors/orders.ts';
import { processors } from '../../examples/processors/processors.ts';
import { resize } from '../../examples/processors/resize.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { enqueue } from '../../functions/queue/index.ts';
import { runProcessor } from '../../testing/index.ts';
import { remaining, runOn } from '../lifecycle/ground.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { blockNamed, blocksOf } from './blocks.ts';
import { otherBlocksOf } from './examples.ts';

test('docs/processors.md shows files as they are, and one table', async () => {
  expect(await otherBlocksOf('docs/processors.md')).toEqual(['sql tables']);
});

describe('its examples', () => {
  test('charge once for an order whose first answer was lost, and ship it once', async ({ own }) => {
    const payments = await paymentService();
    await own.pool.query(blockNamed(blocksOf('docs/processors.md'), 'tables'));
    const client = await own.pool.connect();
    try {
      await client.query('BEGIN');
      await placeOrder(client, 700);
      await client.query('ROLLBACK');
      await client.query('BEGIN');
      await placeOrder(client, 900);
      await client.query('COMMIT');
    } finally {
      client.release();
    }

    expect(await runFor(own.url)).toMatchObject({ retried: 1, completed: 0 });
    await own.pool.query('UPDATE millrace.live_jobs SET run_at = now()');
    expect(await runFor(own.url)).toMatchObject({ completed: 2 });
    expect(payments.charges.size).toBe(1);
    expect(payments.requests()).toBe(2);
    const [charge] = payments.charges.values();
    const { rows } = await own.pool.query('SELECT cents, charge_id FROM orders JOIN shipments ON order_id = id');
    expect(rows).toEqual([{ cents: 900, charge_id: charge }]);
  });

  test('export in pieces that each put the next one in', async ({ own }) => {
    await own.pool.query(blockNamed(blocksOf('docs/processors.md'), 'tables'));
    await own.pool.query('INSERT INTO orders (cents) SELECT n FROM generate_series(1, 1200) n');
    await enqueue(own.pool, contracts, { kind: 'orders.export', payload: {} });
    expect(await runFor(own.url)).toMatchObject({ completed: 3 });
    const { rows } = await own.pool.query('SELECT count(*)::int AS exported, sum(cents)::int AS cents FROM exported');
    expect(rows).toEqual([{ exported: 1200, cents: (1200 * 1201) / 2 }]);
  });

  test('say how far they are, and stop when they are told to', async () => {
    const cancel = new AbortController();
    const server = createServer((request, response) => {
      if (request.url === '/2.png') cancel.abort();
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    process.env.RESIZER_URL = urlOf(server);
    const kinds = { resize: defineJob({ payload: z.array(z.string()) }) };
    const images = ['1.png', '2.png', '3.png', '4.png'];
    const run = await runProcessor(kinds, { resize }, 'resize', images, { signal: cancel.signal });
    expect(run.verdict).toBe('cancelled');
    expect(run.progress.map(({ fraction }) => fraction)).toEqual([0.25]);
  });
});

/** As long as the longest kind needs; it stays a little for what jobs put in. */
function runFor(url: string) {
  return runOn(url, { contracts, processors, remainingMs: remaining(90_000), lingerSeconds: 1 });
}

/** One that knows its keys: it charges, and loses its first answer. */
async function paymentService() {
  const charges = new Map<string, string>();
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const key = String(request.headers['idempotency-key']);
    if (!charges.has(key)) charges.set(key, `ch_${charges.size + 1}`);
    if (requests === 1) response.destroy();
    else response.end(JSON.stringify({ id: charges.get(key) }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  process.env.PAYMENTS_URL = urlOf(server);
  return { charges, requests: () => requests };
}

function urlOf(server: { address(): unknown }): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
