import { expect, test } from 'vitest';
import { LostClaims } from '../../functions/queue/lost-claims.ts';

test('a lost claim is looked for at once, and again for a while: the server may still carry it out', () => {
  const lost = new LostClaims();
  lost.add('a', 1_000);
  const looks: number[] = [];
  for (let now = 1_000; now < 100_000; now += 100) {
    if (lost.due(now).length === 0) continue;
    looks.push(now - 1_000);
    lost.released(['a']);
  }
  expect(looks).toEqual([0, 1_000, 5_000, 20_000]);
});

test('what was not released stays due', () => {
  const lost = new LostClaims();
  lost.add('a', 0);
  lost.add('b', 0);
  lost.released(['a']);
  expect(lost.due(500)).toEqual(['b']);
  expect(lost.due(Infinity)).toEqual(['a', 'b']);
});
