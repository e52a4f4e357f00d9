import { PRESENCE_SECONDS } from '../../functions/queue/renew-presence.ts';

interface Slot {
  token: number;
  startedAt: number;
  presentUntil: number;
  jobSeconds: number | undefined;
}

/** Seconds within which one wake is enough: as in millrace.take_wakes (migrations/0013). */
const WAKE_SECONDS = 2;

/** The tables `slots` and `wakes` of one worker. */
export class Slots {
  readonly #rows = new Map<number, Slot>();
  #wokenAt = Number.NEGATIVE_INFINITY;

  /** Who claims in this slot now. */
  holder(slot: number, now: number): Pick<Slot, 'token' | 'startedAt'> | undefined {
    const row = this.#rows.get(slot);
    return row && row.presentUntil > now ? row : undefined;
  }

  /** The token that the row has, whoever that is. */
  tokenOf(slot: number): number | undefined {
    return this.#rows.get(slot)?.token;
  }

  /** As the run that started last and knows it has said. */
  get jobSeconds(): number | undefined {
    let last: Slot | undefined;
    for (const row of this.#rows.values()) {
      if (row.jobSeconds !== undefined && row.startedAt > (last?.startedAt ?? Number.NEGATIVE_INFINITY)) last = row;
    }
    return last?.jobSeconds;
  }

  take(slot: number, token: number, now: number): void {
    const jobSeconds = this.#rows.get(slot)?.jobSeconds;
    this.#rows.set(slot, { token, startedAt: now, presentUntil: now + PRESENCE_SECONDS, jobSeconds });
  }

  /** Says that it claims. False: the slot is another's by now. */
  renew(slot: number, token: number, jobSeconds: number | undefined, now: number): boolean {
    const row = this.#rows.get(slot);
    if (row?.token !== token) return false;
    row.presentUntil = now + PRESENCE_SECONDS;
    learn(row, jobSeconds);
    return true;
  }

  /** Says that it does not. Who had been woken may have left because of it, so that the next wake is for nobody on the way. */
  clear(slot: number, token: number, jobSeconds: number | undefined): void {
    const row = this.#rows.get(slot);
    if (row?.token !== token) return;
    row.presentUntil = Number.NEGATIVE_INFINITY;
    learn(row, jobSeconds);
    this.#wokenAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether whoever asks is to start a worker. */
  takeWake(now: number): boolean {
    if (now - this.#wokenAt < WAKE_SECONDS) return false;
    for (const row of this.#rows.values()) if (row.presentUntil > now) return false;
    this.#wokenAt = now;
    return true;
  }
}

/** As the statements of renew-presence.ts and clear-presence.ts. */
function learn(row: Slot, jobSeconds: number | undefined): void {
  if (jobSeconds !== undefined) row.jobSeconds = ((row.jobSeconds ?? jobSeconds) + jobSeconds) / 2;
}
