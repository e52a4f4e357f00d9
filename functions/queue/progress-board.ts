import type { Bell } from './bell.ts';
import type { Db } from './db.ts';
import type { Claim } from './job.ts';
import { faultOf } from './postgres-error.ts';
import { type Progress, writeProgress } from './progress.ts';

/** Milliseconds between two statements, however many jobs say something. */
const WRITE_MS = 1_000;
/** Milliseconds after one that failed: jobs are claimed and settled over the same connection, and come first. */
const AFTER_FAILURE_MS = 10_000;
const NOTE_MAX = 500;

/** What the attempts of a run have said of their progress and the database does not know yet: of each the latest. */
export class ProgressBoard {
  readonly #bell: Bell;
  readonly #unwritten = new Set<JobProgress>();
  #restUntil = 0;

  constructor(bell: Bell) {
    this.#bell = bell;
  }

  of(claim: Claim): JobProgress {
    return new JobProgress(claim, this);
  }

  add(progress: JobProgress): void {
    this.#unwritten.add(progress);
    // The broker comes by each second; only what may be written at once is worth waking it.
    if (this.restMs(performance.now()) === 0) this.#bell.ring();
  }

  remove(progress: JobProgress): void {
    this.#unwritten.delete(progress);
  }

  /** Milliseconds until something is to be written, Infinity while there is nothing. */
  restMs(now: number): number {
    return this.#unwritten.size === 0 ? Infinity : Math.max(0, this.#restUntil - now);
  }

  /** Rejects with the database's error. What may succeed later is kept for the next time, what was refused is dropped. */
  async write(db: Db, now = performance.now()): Promise<void> {
    if (this.restMs(now) > 0) return;
    this.#restUntil = now + WRITE_MS;
    const batch = [...this.#unwritten];
    this.#unwritten.clear();
    try {
      await writeProgress(
        db,
        batch.map((progress) => progress.taken()),
      );
    } catch (error) {
      this.#restUntil = performance.now() + AFTER_FAILURE_MS;
      const fault = faultOf(error);
      if (fault === 'lost' || fault === 'repeat') for (const progress of batch) progress.putBack();
      throw error;
    }
  }
}

/** One attempt's `ctx.progress`. */
export class JobProgress {
  readonly #claim: Claim;
  readonly #board: ProgressBoard;
  #fraction = 0;
  #note: string | undefined;
  #unwritten = false;
  #over = false;

  constructor(claim: Claim, board: ProgressBoard) {
    this.#claim = claim;
    this.#board = board;
  }

  /** Nothing but an assignment, unless it is the first since the last statement. */
  say(fraction: number, note?: string): void {
    if (typeof fraction !== 'number' || !(fraction >= 0 && fraction <= 1)) {
      throw new RangeError(`ctx.progress takes a fraction from 0 to 1, not ${String(fraction)}`);
    }
    if (note !== undefined && typeof note !== 'string') {
      throw new RangeError(`ctx.progress takes a note as text or not at all, not ${typeof note}`);
    }
    this.#fraction = fraction;
    this.#note = note;
    if (!this.#unwritten) this.putBack();
  }

  /** The attempt has ended: whatever is said from now on is ignored. */
  end(): void {
    this.#over = true;
    if (this.#unwritten) this.#board.remove(this);
  }

  /** As it is to be written. */
  taken(): Progress {
    this.#unwritten = false;
    const { id, token } = this.#claim;
    return { id, token, fraction: this.#fraction, note: this.#note === undefined ? null : kept(this.#note) };
  }

  putBack(): void {
    if (this.#over) return;
    this.#unwritten = true;
    this.#board.add(this);
  }
}

/** Cut, and without what Postgres refuses: NUL and lone surrogates. */
function kept(note: string): string {
  // A character takes two units at most.
  const characters = Array.from(note.slice(0, 2 * NOTE_MAX + 2).toWellFormed());
  const text = characters.length > NOTE_MAX ? `${characters.slice(0, NOTE_MAX - 1).join('')}…` : characters.join('');
  return text.replaceAll('\0', '\uFFFD');
}
