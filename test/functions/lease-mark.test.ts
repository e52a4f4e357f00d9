import { LeaseMark } from '../../functions/reap/lease-mark.ts';
import { afterEach, expect, test, vi } from '../support/fixtures.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test('the first look begins at the beginning, the others where it ended', async ({ db }) => {
  const mark = new LeaseMark();
  expect(await mark.get(db)).toBeUndefined();
  await mark.move(db, undefined);
  const first = await mark.get(db);
  expect(first).toEqual(expect.any(String));
  await mark.move(db, first);
  const next = (await mark.get(db)) as string;
  expect(next > (first as string)).toBe(true);
});

test('now and then one begins at the beginning again', async ({ db }) => {
  const mark = new LeaseMark(0);
  await mark.move(db, undefined);
  expect(await mark.get(db)).toBeUndefined();
});

test.for([
  ['monotonic', performance],
  ['wall', Date],
] as const)(
  'one begins at the beginning if by the %s clock the database’s is behind: it was set back',
  async ([, clock], { db }) => {
    const mark = new LeaseMark();
    await mark.move(db, undefined);
    const now = clock.now.bind(clock);
    const aheadBy = (ms: number) => vi.spyOn(clock, 'now').mockImplementation(() => now() + ms);
    aheadBy(500);
    expect(await mark.get(db)).toEqual(expect.any(String));
    aheadBy(2_000);
    expect(await mark.get(db)).toBeUndefined();
    vi.restoreAllMocks();
  },
);
