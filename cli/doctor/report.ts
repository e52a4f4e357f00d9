import { terminal } from '../terminal.ts';
import { visible } from '../visible.ts';
import type { Examined } from './examine.ts';
import type { Verdict } from './finding.ts';

const WIDTH = 7;

/** A finding as lines for people: verdict, check, what was found; below it what to do. */
export function linesOf({ id, verdict, found, remedy, see }: Examined, idWidth: number): string[] {
  const indent = ' '.repeat(WIDTH + idWidth + 4);
  const first = `${painted(verdict)}  ${id.padEnd(idWidth)}  ${visible(found)}`;
  if (remedy === undefined) return [first];
  return [first, `${indent}${visible(remedy)}`, `${indent}${see}`];
}

function painted(verdict: Verdict): string {
  const { green, yellow, red, dim } = terminal.paint;
  const paint = { ok: green, warning: yellow, failed: red, skipped: dim }[verdict];
  return paint(verdict.padEnd(WIDTH));
}

/** `12 ok, 1 warning, 2 failed, 4 skipped`. */
export function tallyOf(findings: readonly Examined[]): string {
  const count = (verdict: Verdict) => findings.filter((one) => one.verdict === verdict).length;
  const warnings = count('warning');
  return [
    `${count('ok')} ok`,
    `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`,
    `${count('failed')} failed`,
    `${count('skipped')} skipped`,
  ].join(', ');
}

/** For programs. */
export function documentOf(findings: readonly Examined[], exitCode: number) {
  const checks = findings.map(({ id, verdict, found, remedy, see }) => ({ id, verdict, found, remedy, see }));
  return { healthy: exitCode === 0, checks };
}
