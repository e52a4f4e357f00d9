import type { Profile } from './profile.ts';

/** What a statement is for. */
export type Statement =
  | 'enqueue'
  | 'wake'
  | 'look'
  | 'take'
  | 'claim'
  | 'settle'
  | 'watch'
  | 'presence'
  | 'marks'
  | 'reaper';

/** Seconds over which the busiest time is looked for. */
const MINUTE = 60;

/** The server: so many cores, each statement on one of them, first come first served. */
export class Database {
  readonly counts: Record<Statement, number> = {
    enqueue: 0,
    wake: 0,
    look: 0,
    take: 0,
    claim: 0,
    settle: 0,
    watch: 0,
    presence: 0,
    marks: 0,
    reaper: 0,
  };
  /** CPU that was used, in seconds. */
  cpuSeconds = 0;
  connections = 0;
  mostConnections = 0;
  /** How often somebody was refused a connection. */
  refused = 0;
  readonly #freeAt: Float64Array;
  readonly #profile: Profile;
  readonly #busy: number[] = [];

  constructor(profile: Profile) {
    this.#profile = profile;
    this.#freeAt = new Float64Array(profile['database-cores']).fill(Number.NEGATIVE_INFINITY);
  }

  /** Resolves when a statement is done that comes at this time; `rows` of the batch that it brings or settles. */
  execute(statement: Statement, at: number, rows = 0): number {
    const seconds = this.#costOf(statement, rows) / 1000;
    if (at >= 0) this.#count(statement, at, seconds);
    const core = this.#firstFree();
    const doneAt = Math.max(at, this.#freeAt[core] as number) + seconds;
    this.#freeAt[core] = doneAt;
    return doneAt;
  }

  /** Whether there is a connection left for one more. */
  connect(): boolean {
    if (this.connections >= this.#profile['database-connections']) {
      this.refused++;
      return false;
    }
    this.connections++;
    this.mostConnections = Math.max(this.mostConnections, this.connections);
    return true;
  }

  disconnect(): void {
    this.connections--;
  }

  /** Cores that were busy in the busiest minute. */
  get busiestCores(): number {
    return this.#busy.reduce((most, seconds) => Math.max(most, seconds), 0) / MINUTE;
  }

  #count(statement: Statement, at: number, seconds: number): void {
    this.counts[statement]++;
    this.cpuSeconds += seconds;
    const minute = Math.floor(at / MINUTE);
    this.#busy[minute] = (this.#busy[minute] ?? 0) + seconds;
  }

  /** Milliseconds. */
  #costOf(statement: Statement, rows: number): number {
    const profile = this.#profile;
    if (statement === 'enqueue') return profile['enqueue-ms'];
    if (statement === 'claim') return profile['claim-ms'] + rows * profile['claimed-ms'];
    if (statement === 'settle') return profile['settle-ms'] + rows * profile['settled-ms'];
    return profile['other-ms'];
  }

  #firstFree(): number {
    let first = 0;
    for (let core = 1; core < this.#freeAt.length; core++) {
      if ((this.#freeAt[core] as number) < (this.#freeAt[first] as number)) first = core;
    }
    return first;
  }
}
