/* The worker of the bad day as a process of its own, before or after the fix. SIGTERM drains it. */
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { runOn } from './ground.ts';

/** Orders say `buyer` since a while; older ones said `customer`. */
interface Order {
  readonly customer?: { readonly email: string };
  readonly buyer?: { readonly email: string };
}

const recipient = {
  // The bug: nobody has told this line of it.
  broken: (order: Order) => (order.customer as { email: string }).email,
  fixed: (order: Order) => (order.buyer ?? order.customer)?.email,
};

const [databaseUrl = '', release = ''] = process.argv.slice(2);
const shutdown = new AbortController();
process.once('SIGTERM', () => shutdown.abort());

await runOn(databaseUrl, {
  contracts: {
    'invoice.send': defineJob({
      payload: z.object({ number: z.int(), order: z.custom<Order>(), mailbox: z.boolean().default(true) }),
      maxAttempts: 2,
      backoff: { baseSeconds: 1, capSeconds: 1 },
    }),
  },
  processors: {
    'invoice.send': async ({ order, mailbox }, ctx) => {
      const to = recipient[release as keyof typeof recipient](order);
      if (!mailbox) throw new Error(`550 mailbox of ${to} unavailable`);
      return ctx.transaction(async (tx) => {
        await tx.query('INSERT INTO public.invoices_sent (job) VALUES ($1)', [ctx.job.id]);
      });
    },
  },
  concurrency: 20,
  transactions: 5,
  lingerSeconds: 300,
  remainingMs: () => 300_000,
  signal: shutdown.signal,
});
