import { number } from './number.ts';
import type { Goal } from './row.ts';

function isMet({ value, atLeast = -Infinity, atMost = Infinity }: Goal): boolean {
  return value >= atLeast && value <= atMost;
}

/** `drain, one process, against pg-boss at its best settings: 1.42 × (at least 1.3 ×)`; a missed one ends in MISSED. */
export function goalText(goal: Goal): string {
  const bounds = [
    goal.atLeast !== undefined && `at least ${withUnit(goal.atLeast, goal)}`,
    goal.atMost !== undefined && `at most ${withUnit(goal.atMost, goal)}`,
  ].filter((bound) => bound !== false);
  return `${goal.of}: ${withUnit(goal.value, goal)} (${bounds.join(', ')})${isMet(goal) ? '' : ': **MISSED**'}`;
}

function withUnit(value: number, { unit }: Goal): string {
  return `${number(value)} ${unit}`.trim();
}
