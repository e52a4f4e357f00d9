import { enqueue, PermanentError, type Processors } from 'millrace/queue';
import { contracts } from './contracts.ts';

/** `mail` comes from outside, so that a test can put its own in its place. */
export const processorsWith = (mail: (to: string) => Promise<void>): Processors<typeof contracts> => ({
  'invoice.send': ({ invoiceId }, ctx) =>
    ctx.transaction(async (tx) => {
      const { rows } = await tx.query<{ email: string }>('SELECT email FROM invoices WHERE id = $1', [invoiceId]);
      const to = rows[0]?.email;
      if (to === undefined) throw new PermanentError(`there is no invoice ${invoiceId}`);
      ctx.progress(0.5, 'found');
      await mail(to);
      await tx.query('UPDATE invoices SET sent = true WHERE id = $1', [invoiceId]);
      const days = (n: number) => n * 86_400;
      await enqueue(tx, contracts, { kind: 'invoice.remind', payload: { invoiceId }, delaySeconds: days(14) });
      return { to };
    }),
  'invoice.remind': async ({ invoiceId, level }, { log }) => {
    log.info('reminded', { invoiceId, level });
    await mail(`reminders+${level}@example.org`);
  },
});
