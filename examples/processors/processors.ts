import { enqueue, type Processors } from 'millrace/queue';
import { charge } from './charge.ts';
import { contracts } from './contracts.ts';

const PIECE = 500;

export const processors: Processors<typeof contracts> = {
  'order.charge': async (payload, ctx) => {
    // Outside of the transaction: it must not stay open while somebody else thinks.
    const chargeId = await charge(payload, ctx);
    return ctx.transaction(async (tx) => {
      await tx.query('UPDATE orders SET charge_id = $2 WHERE id = $1', [payload.orderId, chargeId]);
      await enqueue(tx, contracts, { kind: 'order.ship', payload: { orderId: payload.orderId } });
      return { chargeId };
    });
  },

  'order.ship': ({ orderId }, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('INSERT INTO shipments (order_id) VALUES ($1)', [orderId]);
    }),

  'orders.export': async ({ after }, ctx) =>
    ctx.transaction(async (tx) => {
      const { rows } = await tx.query<{ id: number }>(
        `INSERT INTO exported SELECT id, cents FROM orders WHERE id > $1 ORDER BY id LIMIT $2 RETURNING id`,
        [after, PIECE],
      );
      const last = Math.max(after, ...rows.map(({ id }) => id));
      // The next piece is put in by the commit that ends this one: none is left out, none is done twice.
      if (rows.length === PIECE) await enqueue(tx, contracts, { kind: 'orders.export', payload: { after: last } });
      return { exported: rows.length, last };
    }),
};
