import type { Db } from '../../functions/queue/db.ts';
import { takeWakes } from '../../functions/queue/take-wakes.ts';
import { describe, expect, openClient, openPool, test } from '../support/fixtures.ts';

/** A run that holds the slot; it claims for so many seconds from now. Negative: it has left. */
async function holder(db: Db, worker: string, presentSeconds: number, slot = 0): Promise<void> {
  await db.query(
    `INSERT INTO millrace.slots (worker, slot, token, started_at, present_until)
     VALUES ($1, $2, gen_random_uuid(), clock_timestamp(), clock_timestamp() + make_interval(secs => $3))
     ON CONFLICT (worker, slot) DO UPDATE SET present_until = excluded.present_until`,
    [worker, slot, presentSeconds],
  );
}

/** Moves the wake of a worker into the past. */
async function ageWake(db: Db, worker: string, seconds: number): Promise<void> {
  await db.query('UPDATE millrace.wakes SET woken_at = woken_at - make_interval(secs => $2) WHERE worker = $1', [
    worker,
    seconds,
  ]);
}

describe('who puts a job in is told to start', () => {
  test('a worker that nobody claims for, once in two seconds', async ({ db }) => {
    expect(await takeWakes(db, ['work'])).toEqual(['work']);
    expect(await takeWakes(db, ['work'])).toEqual([]);
    await ageWake(db, 'work', 1.9);
    expect(await takeWakes(db, ['work'])).toEqual([]);
    await ageWake(db, 'work', 0.2);
    expect(await takeWakes(db, ['work'])).toEqual(['work']);
    expect(await takeWakes(db, ['work'])).toEqual([]);
  });

  test('no worker that somebody claims for, in whatever slot', async ({ db }) => {
    await holder(db, 'work', 5, 3);
    await holder(db, 'mail', -5);
    expect(await takeWakes(db, ['work', 'mail', 'work', 'mail'])).toEqual(['mail']);
    expect(await takeWakes(db, [])).toEqual([]);
  });

  test('a worker again, once somebody who came after the wake has left', async ({ db }) => {
    await holder(db, 'work', -1);
    expect(await takeWakes(db, ['work'])).toEqual(['work']);
    await holder(db, 'work', 10);
    expect(await takeWakes(db, ['work'])).toEqual([]);
    await holder(db, 'work', 0);
    expect(await takeWakes(db, ['work'])).toEqual(['work']);
    expect(await takeWakes(db, ['work'])).toEqual([]);
  });

  test('a worker, if what is known of it lies ahead: the clock of the server was set back', async ({ db }) => {
    await takeWakes(db, ['work']);
    await ageWake(db, 'work', -3600);
    await holder(db, 'work', 3600);
    expect(await takeWakes(db, ['work'])).toEqual(['work']);
    expect(await takeWakes(db, ['work'])).toEqual([]);
  });
});

describe('of many that ask at once', () => {
  test.for([
    ['first ever', undefined],
    ['after a while', 3],
  ] as const)('one is told, %s', async ([, age], { db, databaseUrl }) => {
    if (age !== undefined) {
      await takeWakes(db, ['mail', 'work']);
      await Promise.all(['mail', 'work'].map((worker) => ageWake(db, worker, age)));
    }
    const pool = openPool(databaseUrl, 20);
    try {
      await Promise.all(Array.from({ length: 20 }, () => pool.query('SELECT 1')));
      const orders = [
        ['work', 'mail'],
        ['mail', 'work'],
      ];
      const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => takeWakes(pool, orders[at % 2] ?? [])));
      expect(answers.flat().sort()).toEqual(['mail', 'work']);
    } finally {
      await pool.end();
    }
  });

  test('none waits for one that keeps its transaction open', async ({ db, directUrl }) => {
    await takeWakes(db, ['work']);
    await ageWake(db, 'work', 3);
    const client = await openClient(directUrl);
    try {
      await client.query('BEGIN');
      expect(await takeWakes(client, ['work'])).toEqual(['work']);
      expect(await takeWakes(db, ['work'])).toEqual([]);
      await client.query('ROLLBACK');
      expect(await takeWakes(db, ['work'])).toEqual(['work']);
    } finally {
      await client.end();
    }
  });
});
