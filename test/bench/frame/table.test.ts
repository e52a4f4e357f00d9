import { expect, test } from 'vitest';
import { section } from './table.ts';

test('a row is a table with its goals and notes, and says which goal is missed', () => {
  const result = {
    columns: ['system', 'jobs/s', 'ms'],
    lines: [
      ['ours', { median: 18_204.4, least: 17_000, most: 19_100 }, 0.01234],
      ['theirs', { median: 5, least: 5, most: 5 }, 'not measured'],
    ],
    goals: [
      { of: 'jobs/s against theirs', value: 3640.8, atLeast: 1.2, unit: '×' },
      { of: 'ms', value: 12, atLeast: 1, atMost: 10, unit: 'ms' },
    ],
    notes: ['One note.'],
  };
  expect(section({ name: 'drain', what: 'Jobs that do nothing.' }, result)).toBe(`## drain

Jobs that do nothing.

| system |                 jobs/s |           ms |
| ------ | ---------------------: | -----------: |
| ours   | 18,204 (17,000–19,100) |       0.0123 |
| theirs |                      5 | not measured |

- jobs/s against theirs: 3,641 × (at least 1.2 ×)
- ms: 12 ms (at least 1 ms, at most 10 ms): **MISSED**

- One note.`);
});

test('a goal that is no number is missed', () => {
  const goals = [{ of: 'what could not be measured', value: Number.NaN, atLeast: 1, unit: '×' }];
  expect(section({ name: 'none', what: 'Nothing.' }, { columns: ['a'], lines: [], goals })).toContain('**MISSED**');
});
