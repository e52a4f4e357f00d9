import type { Reason } from '../../functions/queue/phase.ts';
import { lingerSeconds } from '../../functions/queue/pickup.ts';
import type { StartDecision } from '../../functions/queue/start.ts';
import type { Actor } from './events.ts';
import { Run } from './run.ts';
import type { World } from './world.ts';

/** What became of the runs. `relieved`, `deadline` and the like: of those that began. */
export type Endings = Partial<Record<StartDecision | Reason | 'died' | 'refused', number>>;

const TICK_SECONDS = 60;
/** What an event says, if not whose tick it is. Starts of a script come below that. */
const WOKEN = -1;

/** A start at a time that is known, for a comparison with a real run. */
export interface ScriptedStart {
  readonly at: number;
  readonly slot: number;
  readonly woken: boolean;
}

/** Starts the runs of one worker: by the ticks of its slots, and where somebody has put a job in and found nobody there. */
export class Fleet implements Actor {
  readonly counts = { ticks: 0, wakes: 0 };
  readonly endings: Endings = {};
  readonly #world: World;
  readonly #starts: readonly ScriptedStart[] | undefined;
  #token = 0;

  /** `from`: when there is a queue. Each of its schedules has ticked once by then. */
  constructor(world: World, from: number, starts?: readonly ScriptedStart[]) {
    this.#world = world;
    this.#starts = starts;
    for (const [index, { at }] of (starts ?? []).entries()) world.events.schedule(at, this, WOKEN - 1 - index);
    if (starts) return;
    // Each schedule has a second of its own in a minute.
    for (let slot = 0; slot < world.profile.slots; slot++) {
      world.events.schedule(from + (world.random() - 1) * TICK_SECONDS, this, slot);
    }
  }

  on(what: number, now: number): void {
    const scripted = this.#starts?.[WOKEN - 1 - what];
    if (what === WOKEN) this.#start(0, true, now);
    else if (scripted) this.#start(scripted.slot, scripted.woken, now);
    else this.#tick(what, now);
  }

  #tick(slot: number, now: number): void {
    const { events, profile, random } = this.#world;
    events.schedule(now + TICK_SECONDS, this, slot);
    if (random() < profile.missed) return;
    if (now >= 0) this.counts.ticks++;
    this.#start(slot, false, now);
    if (random() < profile.doubled) this.#start(slot, false, now);
  }

  /** To be called when a job that is due has been put in. */
  wake(now: number): void {
    const { profile, slots, events, database } = this.#world;
    if (profile.pickup !== 'instant') return;
    database.execute('wake', now);
    if (!slots.takeWake(now)) return;
    if (now >= 0) this.counts.wakes++;
    events.schedule(now + profile['invoke-ms'] / 1000, this, WOKEN);
  }

  #start(slot: number, woken: boolean, now: number): void {
    const { workers, profile } = this.#world;
    const sandbox = workers.invoke(now);
    if (sandbox === undefined) return;
    const { pickup, concurrency } = profile;
    new Run(this.#world, {
      start: { slot, woken, lingers: lingerSeconds(pickup, { slot, woken }) > 0, concurrency },
      token: ++this.#token,
      sandbox,
      startedAt: now + sandbox.coldSeconds,
      ended: (how) => {
        if (now >= 0) this.endings[how] = (this.endings[how] ?? 0) + 1;
      },
    });
  }
}
