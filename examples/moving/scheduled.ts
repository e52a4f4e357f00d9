import { Client } from 'millrace/client';

const client = new Client({ url: process.env.MILLRACE_URL as string, token: process.env.MILLRACE_TOKEN });

/** What EventBridge Scheduler starts, with the input `{"time": "<aws.scheduler.scheduled-time>"}`. */
export async function handler({ time }: { readonly time: string }): Promise<void> {
  // Fired twice, or tried again after a lost answer: the time is the key, and there is one job.
  await client.enqueue('hello.greet', { name: 'Ada' }, { idempotencyKey: `morning/${time}` });
}
