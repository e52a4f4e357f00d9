import { seeded } from '../../local/demo/random.ts';
import { Database } from './database.ts';
import { Events } from './events.ts';
import { Fleet, type ScriptedStart } from './fleet.ts';
import { Jobs } from './jobs.ts';
import { Lambda } from './lambda.ts';
import type { Profile } from './profile.ts';
import { Reaper } from './reaper.ts';
import { Slots } from './slots.ts';
import type { Trace } from './trace.ts';
import type { World } from './world.ts';

export interface SimulationOptions {
  readonly trace: Trace;
  readonly profile: Profile;
  /** Seconds of the virtual clock. */
  readonly seconds: number;
  readonly seed: number;
  /** Seconds of the trace that pass before anything is measured. Default: the trace's own. */
  readonly warmUpSeconds?: number | undefined;
  /** Starts in place of the ticks. */
  readonly starts?: readonly ScriptedStart[] | undefined;
}

/** Everything that was counted, when the time was over. */
export interface Simulated extends Omit<World, 'events' | 'random' | 'slots'> {
  readonly seconds: number;
  readonly fleet: Pick<Fleet, 'counts' | 'endings'>;
  readonly reaper: Pick<Reaper, 'ticks' | 'gibibyteSeconds'>;
}

/** What two simulations of the same seed have in common, whatever else they draw. */
const ARRIVALS = 0x5eed;

/** When jobs come: below 0 in the warm-up. Nothing that happens before 0 is counted. */
export function arrivalsOf(options: SimulationOptions): () => number {
  const { trace, seed } = options;
  const warmUp = warmUpOf(options);
  const next = trace.arrivals(seeded(seed ^ ARRIVALS));
  return () => next() - warmUp;
}

function warmUpOf({ trace, warmUpSeconds = trace.warmUpSeconds }: SimulationOptions): number {
  return warmUpSeconds;
}

/** Lets a queue work through a trace, from an empty table on. The same seed gives the same numbers. */
export function simulate(options: SimulationOptions): Simulated {
  const { profile, seconds, seed } = options;
  const world: World = {
    profile,
    events: new Events(),
    jobs: new Jobs(),
    database: new Database(profile),
    workers: new Lambda(profile),
    slots: new Slots(),
    random: seeded(seed),
  };
  const fleet = new Fleet(world, -warmUpOf(options), options.starts);
  const reaper = new Reaper(world);
  const { events, jobs, database } = world;
  const arrival = arrivalsOf(options);
  let put = arrival();
  for (;;) {
    const now = Math.min(put, events.next);
    if (now > seconds) break;
    if (put === now) {
      database.execute('enqueue', now);
      jobs.put(now);
      fleet.wake(now);
      put = arrival();
    } else {
      events.advance();
    }
  }
  world.workers.close(seconds);
  return { ...world, seconds, fleet, reaper };
}
