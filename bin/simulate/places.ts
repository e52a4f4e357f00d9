interface Attempt {
  readonly job: number;
  readonly startedAt: number;
  readonly fails: boolean;
}

/** The places of a run, each with the attempt that has it, in the order of their start. */
export class Places {
  readonly #taken = new Map<number, Attempt>();
  readonly #free: number[];

  constructor(size: number) {
    this.#free = Array.from({ length: size }, (_, place) => size - 1 - place);
  }

  get taken(): number {
    return this.#taken.size;
  }

  /** When the attempt began that has run for longest, Infinity if none runs. */
  get oldestSince(): number {
    for (const { startedAt } of this.#taken.values()) return startedAt;
    return Infinity;
  }

  take(attempt: Attempt): number {
    const place = this.#free.pop();
    if (place === undefined) throw new RangeError('all places are taken');
    this.#taken.set(place, attempt);
    return place;
  }

  /** `undefined`: nothing is in it any more. */
  free(place: number): Attempt | undefined {
    const attempt = this.#taken.get(place);
    if (attempt !== undefined && this.#taken.delete(place)) this.#free.push(place);
    return attempt;
  }

  /** Takes all out. */
  empty(): Attempt[] {
    return [...this.#taken.keys()].flatMap((place) => this.free(place) ?? []);
  }
}
