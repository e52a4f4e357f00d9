import { validate, version } from 'uuid';
import { expect, test } from '../support/fixtures.ts';

test('ids are of version 7, ordered by time, and as good on a Postgres without uuidv7()', async ({ db }) => {
  const { rows } = await db.query<{ id: string; ms: number }>(
    `SELECT millrace.uuidv7()::text AS id, extract(epoch FROM clock_timestamp()) * 1000 AS ms FROM generate_series(1, 2000)`,
  );
  const ids = rows.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  for (const { id, ms } of rows) {
    expect(Math.abs(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16) - Number(ms))).toBeLessThan(50);
  }
  const sequence: string[] = [];
  for (let n = 0; n < 50; n++) sequence.push((await db.query('SELECT millrace.uuidv7()::text AS id')).rows[0].id);
  expect(sequence).toEqual([...sequence].sort());
});

test('the floor of a time is the smallest id of its millisecond, and gives the time back', async ({ db }) => {
  const { rows } = await db.query(
    `SELECT millrace.uuidv7_floor(at)::text AS floor,
            millrace.uuidv7_time(millrace.uuidv7_floor(at)) = date_trunc('milliseconds', at) AS same
     FROM unnest(ARRAY['2026-11-29 12:34:56.789123Z', '1970-01-01Z', '2100-01-01Z', '2199-12-31 23:59:59.999Z']::timestamptz[]) at`,
  );
  expect(rows).toEqual([
    { floor: '01a2274d-2495-7000-8000-000000000000', same: true },
    { floor: '00000000-0000-7000-8000-000000000000', same: true },
    { floor: '03bb2cc3-d800-7000-8000-000000000000', same: true },
    { floor: '0699e991-a7ff-7000-8000-000000000000', same: true },
  ]);
  const { rows: between } = await db.query(
    `SELECT id >= millrace.uuidv7_floor(millrace.uuidv7_time(id)) AS above,
            id < millrace.uuidv7_floor(millrace.uuidv7_time(id) + interval '1 ms') AS below
     FROM (SELECT millrace.uuidv7() AS id FROM generate_series(1, 500)) ids`,
  );
  expect(between.every(({ above, below }) => above && below)).toBe(true);
});

test.for<[string, string]>([
  ['a kind that could break a URL', `kind = 'a/b'`],
  ['a priority out of range', 'priority = 6'],
  ['a state of another table', `status = 'dead'`],
  ['a claim without a token', `status = 'processing', locked_until = now()`],
  ['a token without a lease', `status = 'processing', locked_by = millrace.uuidv7()`],
  ['a token on a pending job', 'locked_by = millrace.uuidv7(), locked_until = now()'],
  ['a pending job that no claim could take', 'attempts = max_attempts'],
  [
    'more attempts than there may be',
    `attempts = 6, status = 'processing', locked_by = millrace.uuidv7(), locked_until = now()`,
  ],
  ['an infinite run_at', `run_at = 'infinity'`],
])('the database itself refuses %s', async ([, change], { db }) => {
  await db.query(`SELECT millrace.enqueue('test.kind', '{}')`);
  await expect(db.query(`UPDATE millrace.live_jobs SET ${change}`)).rejects.toMatchObject({ code: '23514' });
});
