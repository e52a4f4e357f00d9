import type { Context } from 'millrace/queue';

/** A processor whose result says how often it was started, and whose failures are logged under a name of its own. */
export function traced<Payload, Result>(processor: (payload: Payload, ctx: Context) => Promise<Result>) {
  return async (payload: Payload, ctx: Context) => {
    try {
      return { traced: ctx.job.kind, attempt: ctx.job.attempt, result: await processor(payload, ctx) };
    } catch (error) {
      ctx.log.warn('traced', { failed: error instanceof Error ? error.name : String(error) });
      throw error;
    }
  };
}
