/**
 * An answer with what differs from run to run made the same: ids keep their order, times their distance in minutes from the
 * newest job's creation, or schedule's declaration. What is left is what the document shows.
 */
export function normal(body: unknown): unknown {
  const text = JSON.stringify(body) ?? 'null';
  const created = [...text.matchAll(/"(?:created|declared)_at":"([^"]+)"/g)].map(([, at]) => Date.parse(at as string));
  return visit(body, '', { ids: idsIn(text), createdAt: created.length > 0 ? Math.max(...created) : undefined });
}

interface Context {
  readonly ids: ReadonlyMap<string, string>;
  /** Milliseconds. */
  readonly createdAt: number | undefined;
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** In the request id of a job that a schedule has made: the time that it was made for. */
const FIRED = /^(schedule\/.*\/).*/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6})Z$/;

/** Of jobs, which sort by creation; and of requests, which are of version 4. */
function idsIn(text: string): Map<string, string> {
  const found = [...new Set(text.match(UUID))];
  const jobs = found.filter((id) => id[14] !== '4').sort();
  const requests = found.filter((id) => id[14] === '4');
  return new Map([
    ...jobs.map((id, n): [string, string] => [id, `0196a3c8-1d6e-7d2b-8f0a-3f5a9f6b2c${n + 11}`]),
    ...requests.map((id, n): [string, string] => [id, `8f4e2a1c-6d0b-4c3e-9a57-2b1d0e6f7c${n + 88}`]),
  ]);
}

/** Members that are what the machine makes of them. */
const FIXED: Readonly<Record<string, unknown>> = {
  next_cursor: 'AQGWo8gdbn0rjwo_Wp9rLBH0m2xu9c4Zlw',
  lag_seconds: 0.25,
  schema_version: 9,
  postgres_version: '18.4',
  autovacuum: true,
  connections: 14,
  database_connections: 9,
  max_connections: 100,
  xmin_age: 3,
  last_autovacuum_at: '2026-03-01T08:58:00.000000Z',
  dead_rows: 120,
  partition_days_ahead: 2.5,
  // 02:00 in Berlin.
  next_fire_at: '2026-03-02T01:00:00.000000Z',
  last_fire_at: '2026-03-01T01:00:00.000000Z',
  where: 'Millrace-JobsWork 8f4e2a1c-6d0b-4c3e-9a57-2b1d0e6f7c88 2026/03/01/[$LATEST]4f2a9c',
};

function visit(value: unknown, name: string, context: Context): unknown {
  if (Array.isArray(value)) return value.map((item) => visit(item, name, context));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, visit(member, key, context)]));
  }
  if (value !== null && Object.hasOwn(FIXED, name)) return FIXED[name];
  if (typeof value !== 'string') return value;
  if (TIME.test(value)) return time(value, name, context.createdAt);
  return value.replace(FIRED, '$12026-03-01T09:00:00.000Z').replace(UUID, (id) => context.ids.get(id) as string);
}

const CREATED_AT = Date.parse('2026-03-01T09:00:00Z');
/** Milliseconds after the whole minute, so that what comes later is later. */
const OFFSET: Readonly<Record<string, number>> = { started_at: 40, updated_at: 90, failed_at: 140, finished_at: 150 };

function time(value: string, name: string, createdAt = Date.parse(value)): string {
  const minutes = Math.round((Date.parse(value) - createdAt) / 60_000);
  const at = new Date(CREATED_AT + minutes * 60_000 + (OFFSET[name] ?? 0)).toISOString();
  return value.length === at.length ? at : at.replace('Z', '000Z');
}

/** Prometheus text of one kind alone, each of its samples 1. */
export function normalMetrics(text: string, kind: string): string {
  return text
    .split('\n')
    .filter((line) => !line.includes('kind="') || line.includes(`kind="${kind}"`))
    .map((line) => (line.includes('kind="') ? line.replace(/ [\d.e+-]+$/, ' 1') : line))
    .join('\n');
}
