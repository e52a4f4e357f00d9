import { COUNTED_EVENTS, type CountedEvent, type KindStats, type Stats } from '../functions/queue/stats.ts';

/** `name{label="value",…} 1`, as functions/lambda/prometheus.ts writes it. */
const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The statistics that `GET /metrics` tells. Metrics that it does not know are left out. */
export function statsOf(text: string): Stats {
  const kinds = new Map<string, KindStats & { totals: Record<CountedEvent, number> }>();
  let truncated = false;
  for (const { name, labels, value } of samplesOf(text)) {
    if (name === 'millrace_kinds_truncated') truncated = value === 1;
    const { kind, status } = labels;
    if (kind === undefined) continue;
    const stats = kinds.get(kind) ?? nothing(kind);
    const event = COUNTED_EVENTS.find((one) => name === `millrace_jobs_${one}_total`);
    if (event !== undefined) stats.totals[event] = value;
    const gauge =
      name === 'millrace_jobs' && status !== undefined
        ? { [status]: value }
        : name === 'millrace_oldest_due_age_seconds' && { oldestDueSeconds: value };
    kinds.set(kind, { ...stats, ...gauge });
  }
  return { kinds: [...kinds.values()], truncated };
}

function samplesOf(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', inner = '']) => [label, unescaped(inner)]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function nothing(kind: string): KindStats & { totals: Record<CountedEvent, number> } {
  const totals = Object.fromEntries(COUNTED_EVENTS.map((event) => [event, 0])) as Record<CountedEvent, number>;
  return { kind, pending: 0, processing: 0, dead: 0, oldestDueSeconds: 0, totals };
}
