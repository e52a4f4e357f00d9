/** Something that is told when its time has come. What it scheduled it knows by number. */
export interface Actor {
  on(what: number, now: number): void;
}

/**
 * What is to happen, in seconds of the virtual clock. What was scheduled for the same moment happens in the order in which it
 * was scheduled. A binary heap over plain arrays: a day of ten million jobs is some forty million events.
 */
export class Events {
  #times = new Float64Array(1024);
  #turns = new Float64Array(1024);
  #whats = new Int32Array(1024);
  readonly #actors: Actor[] = [];
  #size = 0;
  #turn = 0;

  /** Infinity: nothing is to come. */
  get next(): number {
    return this.#size === 0 ? Infinity : (this.#times[0] as number);
  }

  schedule(time: number, actor: Actor, what: number): void {
    if (this.#size === this.#times.length) this.#grow();
    const turn = this.#turn++;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isAfter(parent, time, turn)) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#put(at, time, turn, what, actor);
  }

  /** Tells whoever is next. There must be somebody. */
  advance(): void {
    const time = this.#times[0] as number;
    const what = this.#whats[0] as number;
    const actor = this.#actors[0] as Actor;
    this.#removeFirst();
    actor.on(what, time);
  }

  #removeFirst(): void {
    const last = --this.#size;
    const actor = this.#actors.pop() as Actor;
    if (last === 0) return;
    const time = this.#times[last] as number;
    const turn = this.#turns[last] as number;
    const what = this.#whats[last] as number;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= last) break;
      if (
        child + 1 < last &&
        this.#isAfter(child, this.#times[child + 1] as number, this.#turns[child + 1] as number)
      ) {
        child++;
      }
      if (this.#isAfter(child, time, turn)) break;
      this.#move(child, at);
      at = child;
    }
    this.#put(at, time, turn, what, actor);
  }

  #isAfter(at: number, time: number, turn: number): boolean {
    const own = this.#times[at] as number;
    return own > time || (own === time && (this.#turns[at] as number) > turn);
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from] as number;
    this.#turns[to] = this.#turns[from] as number;
    this.#whats[to] = this.#whats[from] as number;
    this.#actors[to] = this.#actors[from] as Actor;
  }

  #put(at: number, time: number, turn: number, what: number, actor: Actor): void {
    this.#times[at] = time;
    this.#turns[at] = turn;
    this.#whats[at] = what;
    this.#actors[at] = actor;
  }

  #grow(): void {
    this.#times = grown(this.#times, Float64Array);
    this.#turns = grown(this.#turns, Float64Array);
    this.#whats = grown(this.#whats, Int32Array);
  }
}

/** The same numbers, with room for as many again. */
export function grown<T extends Float64Array | Int32Array | Uint8Array>(array: T, Type: new (length: number) => T): T {
  const larger = new Type(2 * array.length);
  larger.set(array);
  return larger;
}
