import type { Context } from '../queue/context.ts';

interface Delivery {
  event: string;
  delivery: { repository?: { full_name: string } | undefined };
}

/** Counts one delivery, in the transaction that completes the job: counted exactly once, however often it runs. */
export function tallyWebhook({ event, delivery }: Delivery, ctx: Context) {
  const repository = delivery.repository?.full_name ?? '';
  return ctx.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO webhook_tally (event, repository, deliveries)
       VALUES ($1, $2, 1)
       ON CONFLICT (event, repository) DO UPDATE SET deliveries = webhook_tally.deliveries + 1`,
      [event, repository],
    );
    return { event, repository };
  });
}
