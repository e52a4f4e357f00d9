import { enqueue } from 'millrace/queue';
import type pg from 'pg';
import { contracts } from './contracts.ts';

/** What the tests are about: an application's own code, with the client of whoever calls it. */
export async function close(client: pg.ClientBase, invoiceId: number): Promise<void> {
  await client.query('UPDATE invoices SET closed = true WHERE id = $1', [invoiceId]);
  await enqueue(client, contracts, { kind: 'invoice.send', payload: { invoiceId }, subject: `invoice:${invoiceId}` });
}
