import { Client } from 'millrace/client';

interface Message {
  readonly messageId: string;
  readonly body: string;
}

const client = new Client({ url: process.env.MILLRACE_URL as string, token: process.env.MILLRACE_TOKEN });

/** The Lambda that read the queue, for as long as something still writes to it. Needs `ReportBatchItemFailures`. */
export async function handler({ Records }: { readonly Records: readonly Message[] }) {
  const outcomes = await Promise.allSettled(
    // A message that is delivered twice is one job: its id is the key.
    Records.map(async ({ messageId, body }) =>
      client.enqueue('hello.greet', JSON.parse(body), { idempotencyKey: `sqs/${messageId}` }),
    ),
  );
  const failed = Records.filter((_, n) => outcomes[n]?.status === 'rejected');
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}
