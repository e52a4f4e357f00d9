import { expect, test } from 'vitest';
import { Changes } from '../../cli/tail/changes.ts';
import type { ListedJob, Status } from '../../client/job.ts';

/** A job that became so in that minute. */
function job(id: string, status: Status, minute: number, attempts = 0): ListedJob {
  const at = `2026-11-29T10:${String(minute).padStart(2, '0')}:00.000000Z`;
  const isOver = status !== 'pending' && status !== 'processing';
  const times = { createdAt: at, startedAt: attempts > 0 ? at : null, finishedAt: isOver ? at : null };
  return { id, status, attempts, ...times } as ListedJob;
}

const told = (changes: Changes, ...seen: ListedJob[]) => changes.in(seen).map(({ id, status }) => `${id} ${status}`);

test('tells of new jobs and of each change, once, in their order', () => {
  const changes = new Changes();
  changes.begin([job('a', 'pending', 1)]);
  expect(told(changes, job('a', 'pending', 1))).toEqual([]);
  expect(told(changes, job('b', 'pending', 3), job('a', 'processing', 2, 1))).toEqual(['a processing', 'b pending']);
  expect(told(changes, job('a', 'pending', 2, 1))).toEqual(['a pending']);
  expect(told(changes, job('a', 'processing', 4, 2))).toEqual(['a processing']);
  expect(told(changes, job('a', 'dead', 5, 2), job('b', 'pending', 3))).toEqual(['a dead']);
});

test('of a job seen twice in one look the later sight counts', () => {
  const changes = new Changes();
  changes.begin([]);
  expect(told(changes, job('a', 'pending', 1), job('a', 'processing', 2, 1))).toEqual(['a processing']);
});

test('what comes into view, but was so before the begin, is no news', () => {
  const changes = new Changes();
  changes.begin([job('new', 'dead', 5, 1)]);
  // The newest of the dead was redriven, so the page goes back further.
  expect(told(changes, job('old', 'dead', 2, 1))).toEqual([]);
  expect(told(changes, job('old', 'pending', 2))).toEqual(['old pending']);
});

test('remembers no more jobs than it is to, and does not tell again of those that it has forgotten', () => {
  const changes = new Changes(2);
  changes.begin([]);
  expect(told(changes, job('a', 'completed', 1, 1), job('b', 'completed', 2, 1))).toHaveLength(2);
  expect(told(changes, job('c', 'completed', 3, 1))).toEqual(['c completed']);
  expect(changes.knows('a')).toBe(false);
  expect(told(changes, job('a', 'completed', 1, 1))).toEqual([]);
});

test('names those that went out of sight, the longest unseen first', () => {
  const changes = new Changes();
  changes.begin([job('a', 'processing', 1, 1), job('b', 'processing', 1, 1), job('c', 'pending', 1)]);
  expect(changes.unseen('processing', [], 1)).toEqual(['a']);
  told(changes, job('a', 'processing', 1, 1));
  expect(changes.unseen('processing', [], 2)).toEqual(['b', 'a']);
  expect(changes.unseen('processing', [job('b', 'completed', 2, 1)], 2)).toEqual(['a']);
  changes.forget('a');
  expect(changes.unseen('processing', [], 2)).toEqual(['b']);
  expect(changes.unseen('pending', [], 2)).toEqual(['c']);
});
