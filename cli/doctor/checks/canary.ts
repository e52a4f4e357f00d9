import { CANARY } from '../../../functions/queue/canary.ts';
import type { QueueAccess } from '../../queue.ts';
import type { Check } from '../check.ts';
import type { Deployment } from '../deployment.ts';
import { duration } from '../duration.ts';
import { failed, NotKnownError, ok } from '../finding.ts';
import { type Flight, fly } from '../flight.ts';

/** Whether a job that is put into the queue now is picked up, performed and settled, and how soon. */
export function canary(queue: string): Check {
  return {
    id: `canary ${queue}`,
    examine: async (deployment) => {
      const way = await wayTo(deployment);
      const held = await heldBy(deployment, queue);
      if (held !== undefined) {
        return failed(`none was sent: ${held} is paused`, {
          remedy: 'Resume it, npx millrace resume, and ask again.',
          see: 'docs/runbook.md#oldest-due-age',
        });
      }
      const flights: Flight[] = [];
      for (let n = 0; n < deployment.options.canaries; n++) {
        const flown = await fly(deployment, way, queue);
        if ('verdict' in flown) return flown;
        flights.push(flown);
      }
      return ok(summaryOf(flights));
    },
  };
}

async function wayTo(deployment: Deployment): Promise<QueueAccess> {
  const mayEnqueue = await deployment.rights().then(
    (rights) => rights.mayEnqueue,
    () => false,
  );
  if (mayEnqueue) return deployment.byHttp();
  if (deployment.sql === undefined) {
    throw new NotKnownError('takes a token of the role producer or operator, or DATABASE_URL');
  }
  await deployment.ask((db) => db.query('SELECT'));
  return deployment.bySql();
}

async function heldBy(deployment: Deployment, queue: string): Promise<string | undefined> {
  const { paused } = await deployment.state().catch(() => ({ paused: [] }));
  const found = paused.find(({ scope, name }) => name === (scope === 'queue' ? queue : CANARY));
  return found && `the ${found.scope} ${found.name}`;
}

function summaryOf(flights: readonly Flight[]): string {
  const [only] = flights as [Flight];
  if (flights.length === 1)
    return `picked up after ${duration(only.pickup)}, and back after ${duration(only.roundTrip)}`;
  const pickups = flights.map(({ pickup }) => pickup).sort((a, b) => a - b);
  const roundTrips = flights.map(({ roundTrip }) => roundTrip).sort((a, b) => a - b);
  const told = (sorted: readonly number[]) =>
    `${duration(median(sorted))} (median; at most ${duration(sorted.at(-1) ?? 0)})`;
  return `${flights.length} picked up after ${told(pickups)}, and back after ${told(roundTrips)}`;
}

function median(sorted: readonly number[]): number {
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}
