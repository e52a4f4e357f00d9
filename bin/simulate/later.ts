/** Numbers, each with the time at which it comes out again: the earliest first. */
export class Later {
  readonly #entries: { readonly at: number; readonly item: number }[] = [];

  /** When the next one comes, Infinity if none does. */
  get next(): number {
    return this.#entries[0]?.at ?? Infinity;
  }

  put(item: number, at: number): void {
    const entry = { at, item };
    let place = this.#entries.push(entry) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#entries[parent] as typeof entry;
      if (above.at <= at) break;
      this.#entries[place] = above;
      place = parent;
    }
    this.#entries[place] = entry;
  }

  /** There must be one. */
  take(): number {
    const [first] = this.#entries;
    const last = this.#entries.pop();
    if (first === undefined || last === undefined) throw new RangeError('there is nothing to take');
    const size = this.#entries.length;
    if (size === 0) return first.item;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#at(child + 1) < this.#at(child)) child++;
      if (this.#at(child) >= last.at) break;
      this.#entries[place] = this.#entries[child] as typeof last;
      place = child;
    }
    this.#entries[place] = last;
    return first.item;
  }

  #at(place: number): number {
    return this.#entries[place]?.at ?? Infinity;
  }
}
