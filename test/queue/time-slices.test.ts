import { type Slice, TimeSlices } from '../../functions/queue/time-slices.ts';
import { afterEach, expect, test, vi } from '../support/fixtures.ts';

const START = '2026-01-01T00:00:00.123456Z';

afterEach(() => {
  vi.restoreAllMocks();
});

/** Of a statement. */
const LONGEST_MS = 10_000;

/** All of them that came to their end. `tookMs`: by a clock of its own, how long one takes. */
async function sliced(before: readonly string[], tookMs: (slice: Slice) => number = () => 0): Promise<Slice[]> {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  const slices = new TimeSlices(before);
  const all: Slice[] = [];
  for (let tries = 0; !slices.done && tries < 50_000; tries++) {
    const look = async (slice: Slice) => {
      now += Math.min(tookMs(slice), LONGEST_MS);
      if (tookMs(slice) > LONGEST_MS) throw new Error('canceling statement due to statement timeout');
      all.push(slice);
      return true;
    };
    await slices.next(look).catch(() => {});
  }
  return all;
}

/** Milliseconds. */
const lengthOf = ({ from, until }: Slice) => Date.parse(until) - Date.parse(from);

test('they lie side by side, from the latest of the moments back to the beginning of time', async () => {
  const slices = await sliced(['2025-12-31T00:00:00Z', START]);
  expect(slices[0]?.until).toBe('2026-01-01T00:00:00.124Z');
  expect(slices.at(-1)?.from).toBe('-infinity');
  expect(slices.slice(1).map(({ until }) => until)).toEqual(slices.slice(0, -1).map(({ from }) => from));
});

test('quick ones become twice as long: a day is passed in some ten', async () => {
  const slices = await sliced([START]);
  expect(slices.slice(0, 3).map(lengthOf)).toEqual([10_000, 20_000, 40_000]);
  expect(slices.length).toBeLessThan(16);
});

test('those of a slow connection are no shorter', async () => {
  const slices = await sliced([START], () => 150);
  expect(slices.slice(0, 3).map(lengthOf)).toEqual([10_000, 20_000, 40_000]);
});

test('they come to their end on a connection that answers as it likes', async () => {
  let n = 0;
  const slices = await sliced([START], () => [5, 400, 300][n++ % 3] as number);
  expect(slices.at(-1)?.from).toBe('-infinity');
  expect(slices.length).toBeLessThan(800);
});

/** Jobs have come at 20,000 a second for so many hours, from so many hours before the start; each costs half a microsecond. */
function dense(hours: number, before: number) {
  const until = Date.parse(START) - before * 3_600_000;
  const from = until - hours * 3_600_000;
  return (slice: Slice) => {
    const begins = slice.from === '-infinity' ? -Infinity : Date.parse(slice.from);
    return (Math.max(0, Math.min(Date.parse(slice.until), until) - Math.max(begins, from)) * 20) / 2_000;
  };
}

test('while much lies in them they take a tenth of a second or so', async () => {
  const tookMs = dense(2, 0);
  const slices = await sliced([START], tookMs);
  expect(slices.at(-1)?.from).toBe('-infinity');
  expect(Math.max(...slices.map(tookMs))).toBeLessThan(1_200);
  expect(slices.filter((slice) => tookMs(slice) > 400).length).toBeLessThan(100);
});

test.for([
  ['after nothing for a day', dense(48, 24)],
  ['for a week', dense(7 * 24, 0)],
] as const)('where one is too long for a statement the next is shorter: much %s', async ([, tookMs]) => {
  const slices = await sliced([START], tookMs);
  expect(slices.at(-1)?.from).toBe('-infinity');
});

test('one that does not come to its end is the next one again', async () => {
  const slices = new TimeSlices([START]);
  const seen: Slice[] = [];
  const look = async (slice: Slice) => seen.push(slice) > 1;
  await slices.next(look);
  await slices.next(look);
  await slices.next(look);
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[2]?.until).toBe(seen[0]?.from);
});

test('one that fails is the next one again, a quarter as long', async () => {
  const slices = new TimeSlices([START]);
  const failing = slices.next(async () => {
    throw new Error('gone');
  });
  await expect(failing).rejects.toThrow('gone');
  let next: Slice | undefined;
  await slices.next(async (slice) => {
    next = slice;
    return true;
  });
  expect(next).toEqual({ from: '2025-12-31T23:59:57.624Z', until: '2026-01-01T00:00:00.124Z' });
});

test('with no moment there are none', () => {
  expect(new TimeSlices([]).done).toBe(true);
});
