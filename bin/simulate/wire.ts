import type { Statement } from './database.ts';
import type { Verb } from './ended.ts';
import type { Actor } from './events.ts';
import { type Profile, slownessOf } from './profile.ts';
import type { World } from './world.ts';

/** What a run waits for the answer of. */
export type Waiting = 'look' | 'take' | 'marks' | Verb | 'watch' | 'clear' | 'renew' | 'claim' | 'publish';

/** What an event says to the run whose wire it is. */
export const WIRE = { arrived: -2, answered: -3, timer: -4 } as const;

const STATEMENTS: Record<Waiting, Statement> = {
  look: 'look',
  take: 'take',
  marks: 'marks',
  complete: 'settle',
  retry: 'settle',
  bury: 'settle',
  release: 'settle',
  watch: 'watch',
  renew: 'presence',
  claim: 'claim',
  clear: 'presence',
  publish: 'marks',
};

/** The one thread of a run and its one connection: when it is free, what it waits for, what its own work takes. */
export class Wire {
  /** When the run is free to send the next statement. */
  freeAt: number;
  readonly roundTrip: number;
  readonly #world: World;
  readonly #run: Actor;
  readonly #slowness: number;
  #waiting: Waiting | undefined;
  #rows = 0;
  #timerAt = Number.NaN;

  constructor(world: World, run: Actor, startedAt: number) {
    this.#world = world;
    this.#run = run;
    this.#slowness = slownessOf(world.profile);
    this.roundTrip = world.profile['round-trip-ms'] / 1000;
    this.freeAt = startedAt;
  }

  get waits(): boolean {
    return this.#waiting !== undefined;
  }

  /** `rows`: what the statement brings or settles, if that is known before it arrives. */
  send(waiting: Waiting, rows = 0): void {
    this.#waiting = waiting;
    this.#rows = rows;
    const at = this.freeAt + this.cpu('statement-cpu-ms') + this.roundTrip / 2;
    this.#world.events.schedule(at, this.#run, WIRE.arrived);
  }

  /** A statement has come to the server. */
  arrived(now: number): void {
    const { database, events } = this.#world;
    const doneAt = database.execute(STATEMENTS[this.#waiting as Waiting], now, this.#rows);
    events.schedule(doneAt, this.#run, WIRE.answered);
  }

  /** The database has carried it out. Its answer takes half a round trip. */
  answered(now: number): Waiting {
    const waiting = this.#waiting as Waiting;
    this.#waiting = undefined;
    this.freeAt = now + this.roundTrip / 2;
    return waiting;
  }

  /** The run goes on at this time, not earlier. */
  wake(at: number): void {
    this.#timerAt = Math.max(at, this.freeAt);
    this.#world.events.schedule(this.#timerAt, this.#run, WIRE.timer);
  }

  /** Whether this is the time at which it was to go on: timers that others have taken the place of still ring. */
  isAwake(now: number): boolean {
    if (now !== this.#timerAt || this.waits) return false;
    this.freeAt = now;
    return true;
  }

  /** Seconds that the worker's own work takes. */
  cpu(of: keyof Profile & ('start-cpu-ms' | 'statement-cpu-ms' | 'job-cpu-ms')): number {
    return (this.#world.profile[of] / 1000) * this.#slowness;
  }
}
