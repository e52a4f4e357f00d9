import { rollUp } from '../../functions/queue/roll-up.ts';
import { openClient, openPool } from '../support/database.ts';
import { counterOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';

const APPEND = 'INSERT INTO millrace.counter_deltas (kind, event, n) VALUES ($1, $2, $3)';

test('deltas are added to the counters and leave', async ({ db }) => {
  for (const n of [1, 20, 300]) await db.query(APPEND, ['a', 'completed', n]);
  await db.query(APPEND, ['a', 'enqueued', 7]);
  await db.query(APPEND, ['b', 'enqueued', 5]);
  expect(await rollUp(db)).toBe(5);
  expect((await db.query('SELECT * FROM millrace.counter_deltas')).rows).toEqual([]);
  expect((await db.query('SELECT kind, event, total::int FROM millrace.counters ORDER BY 1, 2')).rows).toEqual([
    { kind: 'a', event: 'completed', total: 321 },
    { kind: 'a', event: 'enqueued', total: 7 },
    { kind: 'b', event: 'enqueued', total: 5 },
  ]);

  await db.query(APPEND, ['a', 'completed', 1000]);
  expect(await rollUp(db)).toBe(1);
  expect(await counterOf(db, 'a', 'completed')).toBe(1321);
});

test('without deltas there is nothing to do', async ({ db }) => {
  expect(await rollUp(db)).toBe(0);
});

test('more than one batch is taken in one call', async ({ db }) => {
  await db.query(`INSERT INTO millrace.counter_deltas SELECT 'a', 'enqueued', 1 FROM generate_series(1, 25000)`);
  expect(await rollUp(db)).toBe(25_000);
  expect(await counterOf(db, 'a', 'enqueued')).toBe(25_000);
});

test('a delta that is not committed yet is neither waited for nor lost', async ({ db, databaseUrl }) => {
  const open = await openClient(databaseUrl);
  await open.query('BEGIN');
  await open.query(APPEND, ['a', 'enqueued', 4]);
  await db.query(APPEND, ['a', 'enqueued', 1]);
  expect(await rollUp(db)).toBe(1);
  await open.query('COMMIT');
  await open.end();
  expect(await counterOf(db, 'a', 'enqueued')).toBe(5);
  expect(await rollUp(db)).toBe(1);
  expect(await counterOf(db, 'a', 'enqueued')).toBe(5);
});

test('a roll-up that holds rows does not hold up another, and both count once', async ({ db, databaseUrl }) => {
  for (let n = 0; n < 10; n++) await db.query(APPEND, ['a', 'enqueued', 1]);
  const other = await openClient(databaseUrl);
  await other.query('BEGIN');
  await other.query('SELECT FROM millrace.counter_deltas LIMIT 4 FOR UPDATE');
  expect(await rollUp(db)).toBe(6);
  await other.query('ROLLBACK');
  await other.end();
  expect(await rollUp(db)).toBe(4);
  expect(await counterOf(db, 'a', 'enqueued')).toBe(10);
});

test('whoever reads both tables in one statement never sees a counter go down or a delta twice', async ({
  db,
  databaseUrl,
}) => {
  const others = openPool(databaseUrl, 4);
  let appended = 0;
  let stop = false;
  const writers = [1, 2].map(async () => {
    while (!stop) {
      await others.query(APPEND, ['a', 'completed', 1]);
      appended++;
    }
  });
  const roller = (async () => {
    while (!stop) await rollUp(others);
  })();
  let last = 0;
  for (let read = 0; read < 150; read++) {
    const before = appended;
    const total = await counterOf(db, 'a', 'completed');
    expect(total).toBeGreaterThanOrEqual(Math.max(last, before));
    last = total;
  }
  stop = true;
  await Promise.all([...writers, roller]);
  await others.end();
  expect(await counterOf(db, 'a', 'completed')).toBe(appended);
});
