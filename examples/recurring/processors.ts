import { enqueueMany, type Processors } from 'millrace/queue';
import { contracts } from './contracts.ts';

export const processors: Processors<typeof contracts> = {
  'report.send': async ({ team }, { log, job }) => log.info(`report for ${team}`, { fireAt: job.schedule?.fireAt }),

  'usage.bill': (_payload, ctx) =>
    ctx.transaction(async (tx) => {
      // The hour before the fire time, however late the job runs.
      const until = ctx.job.schedule?.fireAt ?? ctx.job.createdAt;
      await tx.query(
        `INSERT INTO bills (hour, cents)
         SELECT h.hour, coalesce(sum(u.cents), 0)
         FROM (SELECT date_trunc('hour', $1::timestamptz, 'UTC') - interval '1 hour' AS hour) h
         LEFT JOIN usage u ON u.at >= h.hour AND u.at < h.hour + interval '1 hour'
         GROUP BY h.hour
         ON CONFLICT (hour) DO NOTHING`,
        [until],
      );
    }),

  'reminders.due': (_payload, ctx) =>
    ctx.transaction(async (tx) => {
      const { rows } = await tx.query<{ customer: string }>(
        `UPDATE reminders SET due_at = due_at + every
         WHERE customer IN (SELECT customer FROM reminders WHERE due_at <= now() ORDER BY due_at LIMIT 1000)
         RETURNING customer`,
      );
      if (rows.length === 0) return;
      await enqueueMany(
        tx,
        contracts,
        rows.map(({ customer }) => ({ kind: 'reminder.send', payload: { customer } })),
      );
    }),

  'reminder.send': async ({ customer }, { log }) => log.info(`reminds ${customer}`),
};
