import type { Marks, Position } from './marks.ts';

/** Marks of a position that has seen nothing yet. */
export const FROM_THE_BEGINNING: Marks = Array(11).fill(null);

/** A row's place in the claim order. */
export interface Spot {
  readonly priority: number;
  readonly runAt: string;
}

/** What a claim saw, as far as it moves the marks. */
export interface Sight {
  /** It started from the near marks. */
  readonly near: boolean;
  /** The statement's now() less the short grace: no near mark goes beyond it. */
  readonly nearUntil: string;
  /** The statement's now() less the grace. No mark goes beyond it: what commits late is still found. */
  readonly seenUntil: string;
  /** It started from the beginning (a resume). */
  readonly lookedBack: boolean;
  readonly resumedAt: string | null;
  /** It saw a suspect that is due, and left it. */
  readonly suspectDue: boolean;
  /** It found fewer rows than it asked for. */
  readonly exhausted: boolean;
  /** Rows picked in claim order. */
  readonly urgent: readonly Spot[];
  /** If it looked for the oldest: where the rows that it did not take for that begin, in each priority. */
  readonly nextHeads: readonly Spot[];
  /** Rows of both that were too heavy for this claim. They stay pending. */
  readonly leftOut: readonly Spot[];
}

/**
 * Moves the marks. A claim that got all it asked for has seen its lowest priority up to its last row, and all above;
 * below that, what it saw in looking for the oldest. No mark passes a row that was left out.
 */
export function advance(position: Position, sight: Sight): Position {
  const { rescannedAt, near: nearBefore } = position;
  const before = sight.lookedBack ? FROM_THE_BEGINNING : sight.near && nearBefore ? nearBefore : position.marks;
  const seen = moved(before, sight, sight.seenUntil);
  // A claim from the near marks has not looked at what lies between: there the marks wait for the next one from them.
  const isGap = (i: number) => before === nearBefore && nearBefore[i] !== position.marks[i];
  const marks = seen.map((mark, i) => (isGap(i) ? (position.marks[i] ?? null) : mark));
  const suspectBefore = sight.lookedBack ? null : position.suspectMark;
  const suspectMark = sight.suspectDue ? suspectBefore : sight.seenUntil;
  return { marks, near: moved(before, sight, sight.nearUntil), suspectMark, rescannedAt, resumedAt: sight.resumedAt };
}

function moved(before: Marks, sight: Sight, most: string): (string | null)[] {
  const lowest = Math.min(...sight.urgent.map((spot) => spot.priority));
  const marks = before.map((mark, i) => {
    const priority = 5 - i;
    if (sight.exhausted || priority > lowest) return most;
    const seen = latest(priority === lowest ? sight.urgent : sight.nextHeads, priority);
    return seen === null ? mark : earlier(most, seen);
  });
  for (const { priority, runAt } of sight.leftOut) marks[5 - priority] = earlier(marks[5 - priority] ?? null, runAt);
  return marks;
}

function latest(spots: readonly Spot[], priority: number): string | null {
  let last: string | null = null;
  for (const spot of spots) if (spot.priority === priority && (last === null || spot.runAt > last)) last = spot.runAt;
  return last;
}

/** `null` is the beginning of time. */
export function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return null;
  return a < b ? a : b;
}
