import type { Actor } from './events.ts';
import type { World } from './world.ts';

const TICK_SECONDS = 60;
/** Statements of a tick that finds nothing (functions/reap/tick.ts). */
const STATEMENTS = 12;
/** Seconds that such a tick is billed for, and its MiB: as test/stack/monthly-cost.ts has it. */
const BILLED_SECONDS = 0.5;
const MEBIBYTES = 256;

/** Each minute takes back what nobody settled within its lease. */
export class Reaper implements Actor {
  ticks = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
    world.events.schedule(world.random() * TICK_SECONDS, this, 0);
  }

  on(_what: number, now: number): void {
    const { events, jobs, database, profile, random } = this.#world;
    events.schedule(now + TICK_SECONDS, this, 0);
    this.ticks++;
    for (let n = 0; n < STATEMENTS; n++) database.execute('reaper', now);
    jobs.reap(now, profile.attempts, random);
  }

  get gibibyteSeconds(): number {
    return (this.ticks * BILLED_SECONDS * MEBIBYTES) / 1024;
  }
}
