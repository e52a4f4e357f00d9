/** Ten years: a run_at or a delay beyond is a mistake in units, and interval arithmetic stays far from its limits. */
export const MAX_AHEAD_SECONDS = 10 * 365 * 86_400;

const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * An RFC 3339 time as Postgres is given it: UTC, microseconds kept, finer digits cut. Between 1970 and ten years from now.
 * Its own check, since Postgres and `Date` disagree on what they take (offsets of 16 hours, 30 February, year 275760).
 */
export function parseRunAt(text: string, now = Date.now()): { readonly runAt: string } | { readonly flaw: string } {
  const [, day, time, fraction = '', zone] = RFC_3339.exec(text) ?? [];
  if (day === undefined || time === undefined || zone === undefined) return { flaw: HOW };
  const local = Date.parse(`${day}T${time}Z`);
  // Date.parse takes 30 February as 2 March: what it made must read as what was sent.
  if (Number.isNaN(local) || new Date(local).toISOString() !== `${day}T${time}.000Z`) return { flaw: HOW };
  const at = Date.parse(`${day}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(at)) return { flaw: HOW };
  if (at < 0 || at > now + MAX_AHEAD_SECONDS * 1000) return { flaw: RANGE };
  return { runAt: `${new Date(at).toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z` };
}

const HOW = 'must be an RFC 3339 time with its zone, such as 2030-01-31T08:00:00Z or 2030-01-31T09:00:00+01:00';
const RANGE = 'must lie between 1970-01-01T00:00:00Z and ten years from now';
