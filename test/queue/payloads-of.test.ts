import { randomUUID } from 'node:crypto';
import type { Db } from '../../functions/queue/db.ts';
import { idFrom } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const HOUR = 3600;

/** Stores a payload for each job that would have been put in so long ago; it says the job's id. Resolves the ids. */
async function payloadsFrom(db: Db, secondsAgo: readonly number[]): Promise<string[]> {
  const ids = await Promise.all(secondsAgo.map((seconds) => idFrom(db, seconds)));
  await db.query(
    `INSERT INTO millrace.payloads
     SELECT id, jsonb_build_object('of', id) FROM unnest($1::uuid[]) id`,
    [ids],
  );
  return ids;
}

async function payloadsOf(db: Db, ids: readonly string[]): Promise<Map<string, unknown>> {
  const { rows } = await db.query<{ id: string; payload: unknown }>(
    'SELECT id, payload FROM millrace.payloads_of($1)',
    [ids],
  );
  expect(rows).toHaveLength(ids.length);
  return new Map(rows.map(({ id, payload }) => [id, payload]));
}

describe('each id has a row, with its payload or none', () => {
  test.for([
    ['of the same second', [0, 0.1, 0.2]],
    ['of five hours, which do not all begin alike', [0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR]],
    ['of many days', [0, 24 * HOUR, 100 * 24 * HOUR]],
    ['a single one', [0]],
  ] as const)('%s', async ([, secondsAgo], { db }) => {
    const ids = await payloadsFrom(db, secondsAgo);
    const [missing, one = ''] = [await idFrom(db, 0.3), ids[0]];
    const found = await payloadsOf(db, [...ids, missing]);
    expect(found).toEqual(new Map([...ids.map((id) => [id, { of: id }] as const), [missing, null]]));
    expect(await payloadsOf(db, [one])).toEqual(new Map([[one, { of: one }]]));
  });

  test('ids that have none, and no ids at all', async ({ db }) => {
    const nobody = randomUUID();
    expect(await payloadsOf(db, [nobody])).toEqual(new Map([[nobody, null]]));
    expect(await payloadsOf(db, [])).toEqual(new Map());
  });
});
