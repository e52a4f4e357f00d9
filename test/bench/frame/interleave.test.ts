import { expect, test } from 'vitest';
import { interleave } from './interleave.ts';

test('subjects are measured in turns, and each round begins with another one', async () => {
  const subjects = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];
  const order: string[] = [];
  const measured = await interleave({ rounds: 3, say: () => {} }, subjects, async ({ name }, round) => {
    order.push(name);
    return { ms: round + name.charCodeAt(0) };
  });
  expect(order.join('')).toBe('abcbcacab');
  expect([...measured.values()].map(({ ms }) => ms.median)).toEqual([98, 99, 100]);
});
