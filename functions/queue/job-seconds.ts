/** For how long jobs take a place of a run, from claim to settled: the mean of those since it was last asked. */
export class JobSeconds {
  #sumMs = 0;
  #jobs = 0;

  add(ms: number): void {
    this.#sumMs += ms;
    this.#jobs++;
  }

  /** `undefined`: there were none. */
  take(): number | undefined {
    if (this.#jobs === 0) return undefined;
    const mean = this.#sumMs / this.#jobs / 1000;
    this.#sumMs = 0;
    this.#jobs = 0;
    return mean;
  }
}
