import type { Family } from '../lambda/prometheus.ts';
import { COUNTED_EVENTS, type CountedEvent, type KindStats, type Stats } from '../queue/stats.ts';

const STATUSES = ['pending', 'processing', 'dead'] as const;

const HELP: Readonly<Record<CountedEvent, string>> = {
  enqueued: 'Jobs put in.',
  completed: 'Jobs completed.',
  retried: 'Attempts that failed and will be made again.',
  buried: 'Jobs that became dead: attempts exhausted, or failed for good.',
  released: 'Attempts given back unspent: snoozed, or cut short by a drain.',
  cancelled: 'Jobs cancelled.',
  reaped: 'Attempts whose lease ran out: the worker died, hung or lost the database.',
  redriven: 'Dead jobs made pending again.',
};

/** The whole queue, for Prometheus. */
export function families({ kinds, truncated }: Stats): Family[] {
  const each = (value: (stats: KindStats) => number) =>
    kinds.map((kind) => ({ labels: { kind: kind.kind }, value: value(kind) }));
  return [
    {
      name: 'millrace_jobs',
      type: 'gauge',
      help: 'Jobs by kind and status; dead ones are counted up to 1000 a kind.',
      samples: kinds.flatMap((kind) =>
        STATUSES.map((status) => ({ labels: { kind: kind.kind, status }, value: kind[status] })),
      ),
    },
    {
      name: 'millrace_oldest_due_age_seconds',
      type: 'gauge',
      help: 'Seconds since the oldest due job of the kind became due; 0 if none is due.',
      samples: each((kind) => kind.oldestDueSeconds),
    },
    ...COUNTED_EVENTS.map(
      (event): Family => ({
        name: `millrace_jobs_${event}_total`,
        type: 'counter',
        help: HELP[event],
        samples: each((kind) => kind.totals[event]),
      }),
    ),
    {
      name: 'millrace_kinds_truncated',
      type: 'gauge',
      help: '1 if there are more kinds than the 1000 shown here.',
      samples: [{ labels: {}, value: truncated ? 1 : 0 }],
    },
  ];
}
