/**
 * Milliseconds after a claim's answer was lost at which its rows are released: at once, before the next claim, and again,
 * since the server may carry out a statement some time after its client has hung up. What slips through all of them runs
 * out with its lease.
 */
const LOOKS_MS = [0, 1_000, 5_000, 20_000];

/** Tokens of claims that were sent and not answered. */
export class LostClaims {
  #claims: { readonly token: string; readonly lostAt: number; looks: number }[] = [];

  /** `now`: milliseconds of any clock that does not jump. */
  add(token: string, now: number): void {
    this.#claims.push({ token, lostAt: now, looks: 0 });
  }

  /** Tokens whose next look has come; all that are kept, with Infinity. */
  due(now: number): string[] {
    return this.#claims.filter((claim) => now - claim.lostAt >= (LOOKS_MS[claim.looks] ?? 0)).map(({ token }) => token);
  }

  /** Milliseconds since the first of them was lost; 0 if there is none. */
  oldestMs(now: number): number {
    return now - (this.#claims[0]?.lostAt ?? now);
  }

  /** These were released. They are forgotten after their last look. */
  released(tokens: readonly string[]): void {
    for (const claim of this.#claims) if (tokens.includes(claim.token)) claim.looks++;
    this.#claims = this.#claims.filter(({ looks }) => looks < LOOKS_MS.length);
  }
}
