import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../queue/context.ts';

interface Webhook {
  run: string;
  event: string;
  delivery: { repository?: { full_name: string } | undefined };
  dawdle_ms: number;
}

/**
 * Counts one delivery in the transaction that completes the job: counted exactly once, however often it runs.
 * The table is the application's own, see local/demo/tally.ts.
 */
export async function tallyWebhook({ run, event, delivery, dawdle_ms }: Webhook, ctx: Context) {
  const repository = delivery.repository?.full_name ?? '';
  if (dawdle_ms > 0) await sleep(dawdle_ms, undefined, { signal: ctx.signal });
  return ctx.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO public.webhook_tally AS t (run, event, repository, deliveries)
       VALUES ($1, $2, $3, 1)
       ON CONFLICT (run, event, repository) DO UPDATE SET deliveries = t.deliveries + 1`,
      [run, event, repository],
    );
    return { event, repository };
  });
}
