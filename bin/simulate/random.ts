/** A number whose logarithm is normally distributed around that of 1 (Box and Muller). */
export function logNormal(sigma: number, random: () => number): number {
  if (sigma === 0) return 1;
  return Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
}

/** Seconds until something that happens so often an hour happens next. */
export function untilNext(anHour: number, random: () => number): number {
  return anHour === 0 ? Infinity : (-Math.log(1 - random()) * 3600) / anHour;
}
