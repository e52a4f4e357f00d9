/**
 * Seconds of a Retry-After, in either of its forms; undefined if there is none, or it makes no sense. A date is compared
 * with the server's own, so that a wrong clock on this side changes nothing.
 */
export function retryAfterSeconds(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(value)) return Number(value);
  // Date.parse takes "-5" for a year, and more of that kind.
  const at = /^[A-Z][a-z]+,? /.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) return undefined;
  return Math.max(0, at - (serverTime(headers) ?? Date.now())) / 1000;
}

/** Seconds that this machine's clock is ahead of the server's; undefined if the answer has no date. */
export function clockSkewSeconds(headers: Headers): number | undefined {
  const at = serverTime(headers);
  return at === undefined ? undefined : Math.round((Date.now() - at) / 1000);
}

function serverTime(headers: Headers): number | undefined {
  const at = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(at) ? undefined : at;
}
