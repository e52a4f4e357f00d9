/** What was started, to be stopped in the opposite order. */
export class Teardown {
  readonly #steps: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;

  add(stop: () => Promise<void>): void {
    this.#steps.push(stop);
  }

  /** Stops everything once, however often it is called; one step that fails does not keep the others from their turn. */
  run(): Promise<void> {
    this.#running ??= this.#stopAll();
    return this.#running;
  }

  async #stopAll(): Promise<void> {
    const errors: unknown[] = [];
    for (const stop of this.#steps.reverse()) await stop().catch((error: unknown) => errors.push(error));
    if (errors.length > 0) throw new AggregateError(errors, `not everything could be stopped: ${errors.join('; ')}`);
  }
}
