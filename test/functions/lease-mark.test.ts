import { LeaseMark } from '../../functions/reap/lease-mark.ts';
import { afterEach, expect, test, vi } from '../support/fixtures.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

async function lookedBehind(mark: LeaseMark): Promise<void> {
  while (mark.behind) await mark.behind.next(async () => true);
}

test('the first look begins now, with all that was before behind it; the others begin where it ended', async ({
  db,
}) => {
  const mark = new LeaseMark();
  const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const first = await mark.get(db);
  expect(Math.abs(Date.parse(first) - Number(rows[0]?.now))).toBeLessThan(5_000);
  expect(mark.behind?.done).toBe(false);
  await mark.move(db, first);
  await lookedBehind(mark);
  const second = await mark.get(db);
  expect(mark.behind).toBeUndefined();
  await mark.move(db, second);
  expect((await mark.get(db)) > second).toBe(true);
});

test('a look behind it goes on with the next tick', async ({ db }) => {
  const mark = new LeaseMark(0);
  await mark.move(db, await mark.get(db));
  const { behind } = mark;
  await behind?.next(async () => true);
  await mark.get(db);
  expect(mark.behind).toBe(behind);
});

test('now and then all is looked through again', async ({ db }) => {
  const mark = new LeaseMark(0);
  await mark.move(db, await mark.get(db));
  await lookedBehind(mark);
  await mark.get(db);
  expect(mark.behind?.done).toBe(false);
});

test('what was left there is looked for from the next tick on', async ({ db }) => {
  const mark = new LeaseMark();
  await mark.move(db, await mark.get(db));
  mark.leave();
  await lookedBehind(mark);
  await mark.get(db);
  expect(mark.behind?.done).toBe(false);
});

test.for([
  ['monotonic', performance],
  ['wall', Date],
] as const)(
  'a look begins anew if by the %s clock the database’s is behind: it was set back',
  async ([, clock], { db }) => {
    const mark = new LeaseMark();
    await mark.move(db, await mark.get(db));
    await lookedBehind(mark);
    const now = clock.now.bind(clock);
    const aheadBy = (ms: number) => vi.spyOn(clock, 'now').mockImplementation(() => now() + ms);
    aheadBy(500);
    const from = await mark.get(db);
    expect(mark.behind).toBeUndefined();
    aheadBy(2_000);
    expect((await mark.get(db)) > from).toBe(true);
    expect(mark.behind?.done).toBe(false);
    vi.restoreAllMocks();
  },
);
