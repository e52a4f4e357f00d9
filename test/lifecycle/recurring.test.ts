import type pg from 'pg';
import { test as base, describe, expect, inject } from '../support/fixtures.ts';
import { closeGate } from './gate.ts';
import { until } from './ground.ts';
import { startWorker, type WorkerProcess } from './process.ts';

const test = base.skipIf(inject('postgresMajor') === 15);

describe('a schedule that fires each second makes one job for each of them, whatever dies', () => {
  test('of three workers one is killed, and one stands still for a while', async ({ db, databaseUrl }) => {
    const [killed, still, goesOn] = [started(databaseUrl), started(databaseUrl), started(databaseUrl)] as const;
    // Who is first at it is chance.
    await until(async () => (await fireTimes(db)).length >= 1);
    killed.child.kill('SIGKILL');
    still.child.kill('SIGSTOP');
    await until(async () => (await fireTimes(db)).length >= 3);
    still.child.kill('SIGCONT');
    goesOn.child.kill('SIGSTOP');
    await until(async () => (await fireTimes(db)).length >= 4);
    goesOn.child.kill('SIGCONT');
    for (const worker of [still, goesOn]) {
      worker.child.kill('SIGTERM');
      expect(await worker.ended).toMatchObject({ code: 0, summary: { reason: 'drained' } });
    }
    expectEachSecondOnce(await fireTimes(db));
  });

  test('a worker is killed while the server carries its statement out, which it does to the end', async ({
    own: { pool: db, url },
  }) => {
    const killed = started(url);
    await until(async () => (await db.query('SELECT FROM millrace.schedules')).rowCount);
    const gate = await closeGate(db, 'AFTER INSERT ON millrace.live_jobs');
    await gate.reached();
    killed.child.kill('SIGKILL');
    await killed.ended;
    const before = await fireTimes(db);
    const next = started(url);
    await gate.open();
    await until(async () => (await fireTimes(db)).length >= before.length + 2);
    next.child.kill('SIGTERM');
    await next.ended;
    expectEachSecondOnce(await fireTimes(db));
  });
});

function started(databaseUrl: string): WorkerProcess {
  return startWorker({ databaseUrl, lingerSeconds: 60, beat: '1s' });
}

interface Beat {
  /** Milliseconds since 1970. */
  readonly fireAt: number;
  readonly createdAt: number;
}

async function fireTimes(db: pg.Pool): Promise<Beat[]> {
  const { rows } = await db.query(
    `SELECT request_id, created_at FROM millrace.live_jobs WHERE schedule_name = 'beat'
     UNION ALL
     SELECT request_id, created_at FROM millrace.finished_jobs WHERE schedule_name = 'beat'`,
  );
  const beats = rows.map(({ request_id, created_at }) => ({
    fireAt: Date.parse(request_id.replace('schedule/beat/', '')),
    createdAt: created_at.getTime(),
  }));
  return beats.sort((one, other) => one.fireAt - other.fireAt);
}

function expectEachSecondOnce(beats: readonly Beat[]): void {
  const [first] = beats as [Beat];
  expect(beats.map(({ fireAt }) => fireAt)).toEqual(beats.map((_, n) => first.fireAt + n * 1_000));
  for (const { fireAt, createdAt } of beats) expect(createdAt).toBeGreaterThanOrEqual(fireAt);
}
