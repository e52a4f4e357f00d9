import type { Delivery } from './deliveries.ts';

/** How many requests are under way at once. */
const REQUESTS = 8;

export interface EnqueueOptions {
  /** Goes into every payload, so that the tallies of two runs do not mix. */
  readonly run: string;
  /** Milliseconds that the processor dawdles over a delivery. */
  readonly dawdleMs: () => number;
  readonly onEnqueued: (id: string) => void;
  readonly signal: AbortSignal;
}

/** Enqueues each delivery as a job over HTTP. Resolves the ids. @throws Error with the answer of the API when it refuses one */
export async function enqueueAll(
  url: string,
  deliveries: readonly Delivery[],
  options: EnqueueOptions,
): Promise<string[]> {
  const ids: string[] = [];
  const waiting = deliveries.values();
  const loop = async () => {
    // The iterator is shared: each loop takes the next one that nobody has.
    for (const delivery of waiting) {
      const id = await enqueue(url, delivery, options);
      ids.push(id);
      options.onEnqueued(id);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS }, loop));
  return ids;
}

async function enqueue(url: string, { event, repository, body }: Delivery, options: EnqueueOptions): Promise<string> {
  const dawdleMs = options.dawdleMs();
  const response = await fetch(`${url}/jobs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      kind: 'github.webhook',
      subject: repository,
      payload: { run: options.run, event, delivery: body, ...(dawdleMs > 0 && { dawdle_ms: dawdleMs }) },
    }),
    signal: options.signal,
  });
  const text = await response.text();
  if (response.status === 401)
    throw new Error(`The runtime at ${url} wants tokens: stop it, or start it again without MILLRACE_AUTH=on.`);
  if (response.status !== 201)
    throw new Error(`POST ${url}/jobs answered ${response.status} to a delivery of "${event}": ${text}`);
  return (JSON.parse(text) as { id: string }).id;
}
