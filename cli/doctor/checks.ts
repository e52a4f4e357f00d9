import type { Check } from './check.ts';
import { canary } from './checks/canary.ts';
import { dead } from './checks/dead.ts';
import { health } from './checks/health.ts';
import { metrics } from './checks/metrics.ts';
import { lag, paused, tick, unclaimed } from './checks/queue.ts';
import { ready } from './checks/ready.ts';
import { schema } from './checks/schema.ts';
import { clock, database, roles } from './checks/sql.ts';
import { strangers } from './checks/strangers.ts';
import { tls } from './checks/tls.ts';
import { token } from './checks/token.ts';
import { url } from './checks/url.ts';
import { autovacuum, connections, partitions, postgres, snapshot } from './checks/vitals.ts';

/** In the order in which they are told: from the outside in, what takes longest last. docs/doctor.md has a heading for each. */
export function checksFor(queues: readonly string[]): readonly Check[] {
  return [
    url,
    tls,
    health,
    strangers,
    token,
    ready,
    database,
    roles,
    schema,
    postgres,
    clock,
    connections,
    autovacuum,
    snapshot,
    partitions,
    metrics,
    tick,
    lag,
    paused,
    unclaimed,
    dead,
    ...queues.map(canary),
  ];
}
