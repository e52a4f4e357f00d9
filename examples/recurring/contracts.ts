import { defineJob, type Schedules, schedule } from 'millrace/queue';
import * as z from 'zod';

export const contracts = {
  'report.send': defineJob({ payload: z.object({ team: z.string() }), timeoutSeconds: 60 }),
  'usage.bill': defineJob({ payload: z.object({}) }),
  'reminders.due': defineJob({ payload: z.object({}) }),
  'reminder.send': defineJob({ payload: z.object({ customer: z.string() }) }),
};

export const schedules: Schedules<typeof contracts> = [
  // On working days at seven in Berlin, in summer and winter.
  schedule({
    name: 'report.morning',
    cron: '0 7 * * 1-5',
    zone: 'Europe/Berlin',
    kind: 'report.send',
    payload: { team: 'sales' },
  }),
  // Each hour is billed, those too in which no worker was there.
  schedule({ name: 'usage.hourly', every: '1h', kind: 'usage.bill', payload: {}, catchUp: 'all', overlap: 'allow' }),
  // Never two at once, and after a gap one is enough: these are the defaults.
  schedule({ name: 'reminders.due', every: '1m', kind: 'reminders.due', payload: {} }),
];
