import { type Context, PermanentError, RetryAfter } from 'millrace/queue';

/** Whatever became of the answer to an earlier attempt: the service knows the key, and charges once. */
export async function charge(
  { orderId, cents }: { orderId: number; cents: number },
  { idempotencyKey, signal }: Pick<Context, 'idempotencyKey' | 'signal'>,
): Promise<string> {
  const answer = await fetch(`${process.env.PAYMENTS_URL}/charges`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ orderId, cents }),
    signal,
  });
  if (answer.status === 402) throw new PermanentError('the card was refused');
  if (answer.status === 429) throw new RetryAfter(Number(answer.headers.get('retry-after') ?? 60));
  if (!answer.ok) throw new Error(`the payment service answered ${answer.status}`);
  const { id } = (await answer.json()) as { id: string };
  return id;
}
