/**
 * A sandbox of the functions that wake workers, as a process of its own: answers the events that it is sent, one after the other, and
 * tells their statuses. It ends with its parent.
 */
import type { Context } from 'aws-lambda';
import { handler as enqueue } from '../../functions/enqueue/handler.ts';
import type { HttpEvent } from '../../functions/lambda/http.ts';
import { handler as manage } from '../../functions/manage/handler.ts';

const HANDLERS = { enqueue, manage };

export interface Requests {
  readonly to: keyof typeof HANDLERS;
  readonly events: readonly HttpEvent[];
}

process.on('message', async ({ to, events }: Requests) => {
  const statuses: (number | undefined)[] = [];
  for (const event of events) {
    const context = { getRemainingTimeInMillis: () => 20_000 } as Context;
    statuses.push((await HANDLERS[to](event, context)).statusCode);
  }
  process.send?.(statuses);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
