import { createHmac } from 'node:crypto';
import { xxh64 } from '@node-rs/xxhash';
import { PermanentError, type Processors } from 'millrace/queue';
import type { contracts } from './contracts.js';
import { traced } from './traced.js';

/** A class of its own: its name stands in the job's errors. */
class OrderUnknown extends PermanentError {}

/** Read once, as many modules do. */
const key = process.env.PARTNER_KEY ?? '';

export const processors: Processors<typeof contracts> = {
  // Native code.
  'file.fingerprint': ({ text }) => ({ fingerprint: xxh64(text).toString(16) }),
  // A secret.
  'partner.notify': ({ orderId }) => ({
    partner: process.env.PARTNER,
    signature: createHmac('sha256', key).update(String(orderId)).digest('hex'),
  }),
  // Something of the application's own around each run.
  'order.audit': traced(async ({ orderId }: { orderId: number }, ctx) => {
    if (orderId === 0) throw new OrderUnknown(`there is no order ${orderId}`);
    return ctx.transaction(async (tx) => (await tx.query<{ id: number }>('SELECT $1::int AS id', [orderId])).rows[0]);
  }),
};
