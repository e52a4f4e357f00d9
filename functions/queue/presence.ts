import { randomUUID } from 'node:crypto';
import { clearPresence } from './clear-presence.ts';
import type { Db } from './db.ts';
import type { JobSeconds } from './job-seconds.ts';
import type { Kinds } from './marks.ts';
import { PRESENCE_SECONDS, renewPresence } from './renew-presence.ts';
import { type Slot, seeStart } from './see-start.ts';
import { decideStart, type Start, type StartDecision } from './start.ts';
import { takeSlot } from './take-slot.ts';

/** Milliseconds before its last claim at which the presence of a run ends: more than a claim takes. */
const LAST_CLAIM_MS = 1_000;
/** Milliseconds between two renewals: two may fail before others start somebody else. Also for so long a relieved run claims on. */
export const RENEW_MS = 3_000;

/**
 * That this run claims for its worker now, as others see it: those who put jobs in, and the starts of the same slot.
 *
 * Why no job is left for the tick: who puts one in commits, and then reads the presence. A run that leaves clears it, commits, and
 * then asks every queue once more (broker.ts). If the reader found it present, the job was committed before that last claim, which
 * finds it; else the reader starts a worker. Whoever is started and finds a holder leaves: then the holder's clear is still to
 * come, and so is its last claim. At the deadline the presence runs out before that. And its end voids the wake, of which nobody comes
 * any more (take_wakes in 0013).
 */
export class Presence {
  readonly #slot: Slot;
  readonly #jobSeconds: JobSeconds;
  readonly #claimsForMs: () => number;
  readonly #token = randomUUID();
  #present = false;
  #relieved = false;
  #renewedAt = 0;

  /** `claimsForMs`: how long it will still claim. */
  constructor(slot: Slot, jobSeconds: JobSeconds, claimsForMs: () => number) {
    this.#slot = slot;
    this.#jobSeconds = jobSeconds;
    this.#claimsForMs = claimsForMs;
  }

  /** Others believe that it claims. */
  get present(): boolean {
    return this.#present;
  }

  /** Another run has the slot. */
  get relieved(): boolean {
    return this.#relieved;
  }

  /** Looks whether the run is needed, and takes the slot if it is. It can be repeated when its answer was lost. */
  async begin(
    db: Db,
    start: Omit<Start, 'slot'>,
    lanes: { readonly queues: readonly string[]; readonly kinds: Kinds },
  ): Promise<StartDecision> {
    const sight = await seeStart(db, { ...start, ...this.#slot }, lanes);
    const own = sight.token === this.#token;
    const decision = own ? 'take' : decideStart({ ...start, slot: this.#slot.slot }, sight);
    if (decision !== 'take') return decision;
    const at = performance.now();
    if (!(await takeSlot(db, this.#slot, this.#token, this.#seconds(), sight))) return 'held';
    this.#said(true, at);
    return 'take';
  }

  /** Milliseconds until it is to be renewed; a run that has left and is `busy` all the same says so at once. */
  restMs(now: number, busy: boolean): number {
    if (this.#relieved || !(this.#present || busy)) return Infinity;
    return this.#present ? Math.max(0, this.#renewedAt + RENEW_MS - now) : 0;
  }

  async renew(db: Db, busy: boolean): Promise<void> {
    const at = performance.now();
    if (this.restMs(at, busy) > 0) return;
    this.#relieved = !(await renewPresence(db, this.#slot, this.#token, this.#seconds(), this.#jobSeconds.take()));
    this.#said(!this.#relieved, at);
  }

  async clear(db: Db): Promise<void> {
    if (!this.#present) return;
    await clearPresence(db, this.#slot, this.#token, this.#jobSeconds.take());
    this.#said(false, performance.now());
  }

  /** It ends before the run does: nobody is to rely on a run that can claim nothing any more. */
  #seconds(): number {
    return Math.max(0, Math.min(PRESENCE_SECONDS, (this.#claimsForMs() - LAST_CLAIM_MS) / 1000));
  }

  /** `at`: before it was sent, so that it is never believed to last longer than others believe it. */
  #said(present: boolean, at: number): void {
    this.#present = present;
    this.#renewedAt = at;
  }
}
