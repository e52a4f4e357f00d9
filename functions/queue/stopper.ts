/**
 * How a running attempt is told to stop, and why: the deadline, a cancel request, a lost claim, a drain. The first reason
 * stays. The AbortSignal is made only for a processor that asks for it.
 */
export class Stopper {
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  #onStop: (() => void) | undefined;

  get reason(): Error | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  stop(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#onStop?.();
    this.#controller?.abort(reason);
  }

  /** Called once, as the attempt is told to stop: before the processor hears of it. */
  onStop(listener: () => void): void {
    this.#onStop = listener;
    if (this.#reason) listener();
  }
}
