import type { Bench, Spread } from './row.ts';
import { spreadOf } from './spread.ts';

/** What one round measured of one subject, by name. */
export type Measured<Figure extends string> = Readonly<Record<Figure, number>>;

/**
 * Measures each subject once a round, in turns, so that what slows the machine down for a while slows all of them; each
 * round begins with another one. Resolves what the rounds came to, by subject.
 */
export async function interleave<Subject extends { readonly name: string }, Figure extends string>(
  { rounds, say }: Pick<Bench, 'rounds' | 'say'>,
  subjects: readonly Subject[],
  measure: (subject: Subject, round: number) => Promise<Measured<Figure>>,
): Promise<Map<Subject, Record<Figure, Spread>>> {
  const all = new Map<Subject, Measured<Figure>[]>(subjects.map((subject) => [subject, []]));
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < subjects.length; turn++) {
      const subject = subjects[(turn + round) % subjects.length] as Subject;
      say(`round ${round + 1} of ${rounds}: ${subject.name}`);
      all.get(subject)?.push(await measure(subject, round));
    }
  }
  return new Map([...all].map(([subject, measured]) => [subject, spreads(measured)]));
}

function spreads<Figure extends string>(measured: readonly Measured<Figure>[]): Record<Figure, Spread> {
  const figures = Object.keys(measured[0] ?? {}) as Figure[];
  return Object.fromEntries(figures.map((figure) => [figure, spreadOf(measured.map((one) => one[figure]))])) as Record<
    Figure,
    Spread
  >;
}
