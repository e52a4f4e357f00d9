import * as z from 'zod';

const HOW =
  'must be an RFC 3339 time with its zone, such as 2030-01-31T08:00:00Z; in a query write the + of a zone as %2B';

/**
 * A time as a query gives it. Up to the next whole millisecond, since ids hold whole ones, cut: what lies on or after it,
 * and what lies before it, are then the same as by the exact time.
 */
export const queryTime = z.iso.datetime({ offset: true, error: HOW }).transform((text) => {
  const finer = /\.\d{3}(\d+)/.exec(text)?.[1] ?? '';
  return new Date(Date.parse(text) + (/[1-9]/.test(finer) ? 1 : 0));
});
