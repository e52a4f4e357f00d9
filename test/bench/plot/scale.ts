/** Where a value stands between the two ends of an axis, and what is written along it. */
export interface Scale {
  readonly ticks: readonly number[];
  /** 0 at the axis' begin, 1 at its end; undefined for what has no place on it. */
  at(value: number): number | undefined;
}

export type ScaleKind = 'linear' | 'log';

export function scaleOf(kind: ScaleKind, values: readonly number[]): Scale {
  const finite = values.filter(Number.isFinite);
  return kind === 'log' ? logarithmic(finite.filter((value) => value > 0)) : linear(finite);
}

/** From 0, so that a line's height is its share, to the first round step above all. */
function linear(values: readonly number[]): Scale {
  const most = largest(values, 0) || 1;
  const step = roundStep(most / 4);
  const count = Math.ceil(most / step - 1e-9);
  const ticks = Array.from({ length: count + 1 }, (_, n) => Number((n * step).toPrecision(12)));
  return { ticks, at: (value) => (Number.isFinite(value) ? value / (count * step) : undefined) };
}

/** Whole decades; of more than five, every second or third has its tick. */
function logarithmic(values: readonly number[]): Scale {
  const low = Math.floor(Math.log10(smallest(values, 1)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(largest(values, 1))));
  const every = Math.ceil((high - low) / 5);
  const ticks = Array.from({ length: Math.floor((high - low) / every) + 1 }, (_, n) => 10 ** (low + n * every));
  return { ticks, at: (value) => (value > 0 ? (Math.log10(value) - low) / (high - low) : undefined) };
}

/** 1, 2 or 5 times a power of ten, and no less than this. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5].find((one) => one * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

function largest(values: readonly number[], none: number): number {
  return values.reduce((most, value) => Math.max(most, value), values[0] ?? none);
}

function smallest(values: readonly number[], none: number): number {
  return values.reduce((least, value) => Math.min(least, value), values[0] ?? none);
}
