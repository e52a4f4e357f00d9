import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import { contractOf, kindsByName, knownKinds, onDeadNames } from '../../functions/queue/kinds.ts';
import { performableKinds } from '../../functions/queue/run-options.ts';

const job = (options: Partial<Parameters<typeof defineJob>[0]> = {}) => defineJob({ payload: z.unknown(), ...options });

const contracts = {
  'mail.send': job({ aliases: ['mail', 'email.send'], onDead: 'ops.tell' }),
  'ops.tell': job({ aliases: ['ops.warn'] }),
};

test('a job is of the kind whose name or alias it has', () => {
  const named = [...kindsByName(contracts)].map(([name, { kind }]) => [name, kind]);
  expect(named).toEqual([
    ['mail.send', 'mail.send'],
    ['ops.tell', 'ops.tell'],
    ['mail', 'mail.send'],
    ['email.send', 'mail.send'],
    ['ops.warn', 'ops.tell'],
  ]);
  expect(contractOf(contracts, 'email.send')).toBe(contracts['mail.send']);
  expect(contractOf(contracts, 'constructor')).toBeUndefined();
  expect(contractOf(contracts, 'mail.')).toBeUndefined();
});

test('a worker has the code of a kind for its aliases, too', () => {
  const kinds = performableKinds({ contracts, processors: { 'mail.send': () => 1 } });
  expect([...kinds.keys()]).toEqual(['mail.send', 'mail', 'email.send']);
});

describe('contracts that do not go together are refused', () => {
  test.each([
    ['an alias that is a kind', { a: job({ aliases: ['b'] }), b: job() }, /^"b" is an alias of "a" and names "b" too/],
    [
      'an alias of two kinds',
      { a: job({ aliases: ['x'] }), b: job({ aliases: ['x'] }) },
      /^"x" is an alias of "b" and names "a" too/,
    ],
    ['an alias of itself', { a: job({ aliases: ['a'] }) }, /^"a" is an alias of "a"/],
    ['an onDead that is no kind', { a: job({ onDead: 'b' }) }, /^onDead of "a" is "b", which is no kind/],
    ['an onDead with an onDead', { a: job({ onDead: 'a' }) }, /which has an onDead itself/],
  ])('%s', (_, wrong, sentence) => {
    expect(() => kindsByName(wrong)).toThrow(sentence);
  });

  test('an alias that the database would not take', () => {
    expect(() => job({ aliases: ['with space'] })).toThrow(/aliases must match .*, not "with space"/);
  });
});

test('the kinds that are told of deaths', () => {
  expect([...onDeadNames(contracts)]).toEqual(['ops.tell', 'ops.warn']);
});

test('people are shown aliases with their kind, and 50 kinds at most', () => {
  expect(knownKinds(contracts)).toBe('mail.send (alias mail, email.send), ops.tell (alias ops.warn)');
  expect(knownKinds({})).toBe('none');
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`kind.${n}`, job()]));
  expect(knownKinds(many)).toMatch(/kind\.53, … \(60 in all\)$/);
});
