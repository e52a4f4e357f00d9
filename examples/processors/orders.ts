import { type Db, enqueue } from 'millrace/queue';
import { contracts } from './contracts.ts';

/** In the transaction of whoever calls it: the order and its charge are both there, or neither is. */
export async function placeOrder(tx: Db, cents: number): Promise<number> {
  const { rows } = await tx.query<{ id: number }>('INSERT INTO orders (cents) VALUES ($1) RETURNING id', [cents]);
  const orderId = rows[0]?.id as number;
  await enqueue(tx, contracts, {
    kind: 'order.charge',
    payload: { orderId, cents },
    subject: `order:${orderId}`,
    idempotencyKey: `order:${orderId}/charge`,
  });
  return orderId;
}
