/** The values that each factor may take. */
export type Factors = Readonly<Record<string, readonly string[]>>;
export type Combination<F extends Factors> = { readonly [Factor in keyof F]: F[Factor][number] };

/**
 * Combinations in which each two values that can stand together do so at least once (all-pairs testing), chosen greedily:
 * always the one that brings the most new pairs. Deterministic.
 * @param possible - whether a combination makes sense at all
 */
export function pairwise<const F extends Factors>(
  factors: F,
  possible: (combination: Combination<F>) => boolean,
): Combination<F>[] {
  const candidates = product(factors)
    .filter(possible)
    .map((combination) => ({ combination, pairs: pairsOf(combination) }));
  const missing = new Set(candidates.flatMap(({ pairs }) => pairs));
  const chosen: Combination<F>[] = [];
  while (missing.size > 0) {
    const news = ({ pairs }: { pairs: string[] }) => pairs.filter((pair) => missing.has(pair)).length;
    const best = candidates.reduce((first, next) => (news(next) > news(first) ? next : first));
    for (const pair of best.pairs) missing.delete(pair);
    chosen.push(best.combination);
  }
  return chosen;
}

function product<F extends Factors>(factors: F): Combination<F>[] {
  return Object.entries(factors).reduce<Record<string, string>[]>(
    (combinations, [factor, values]) =>
      combinations.flatMap((combination) => values.map((value) => ({ ...combination, [factor]: value }))),
    [{}],
  ) as Combination<F>[];
}

function pairsOf(combination: Readonly<Record<string, string>>): string[] {
  const values = Object.entries(combination).map(([factor, value]) => `${factor}=${value}`);
  return values.flatMap((one, at) => values.slice(at + 1).map((other) => `${one} ${other}`));
}
