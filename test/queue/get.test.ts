import { get } from '../../functions/queue/get.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const NOBODY = '0195c9f0-0000-7000-8000-000000000000';
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

describe('get', () => {
  test('finds a job in every state, with the same fields', async ({ db }) => {
    const made = [
      await pendingJob(db),
      await processingJob(db),
      await finishedJob(db),
      await finishedJob(db, { status: 'cancelled' }),
      await deadJob(db),
    ];
    const jobs = await Promise.all(made.map(({ id }) => get(db, id)));
    expect(jobs.map((job) => job?.status)).toEqual(['pending', 'processing', 'completed', 'cancelled', 'dead']);
    expect(new Set(jobs.map((job) => Object.keys(job ?? {}).join())).size).toBe(1);
    expect(await get(db, NOBODY)).toBeUndefined();
  });

  test('tells times in UTC with microseconds, whatever the zone of the server', async ({ db }) => {
    const { id } = await pendingJob(db);
    await db.query(`UPDATE millrace.live_jobs SET run_at = '2030-01-02T03:04:05.000006Z' WHERE id = $1`, [id]);
    expect(await get(db, id)).toMatchObject({
      run_at: '2030-01-02T03:04:05.000006Z',
      created_at: expect.stringMatching(MICROSECONDS),
      finished_at: null,
    });
  });

  test('brings payload and result as JSON text, and only when asked', async ({ db }) => {
    const { id } = await finishedJob(db, { payload: { p: 1 }, result: [2] });
    expect(await get(db, id)).not.toHaveProperty('payload');
    const both = await get(db, id, { payload: true, result: true });
    expect(both).toMatchObject({ payload: '{"p": 1}', result: '[2]' });
    const pending = await pendingJob(db, { payload: 0 });
    expect(await get(db, pending.id, { payload: true, result: true })).toMatchObject({ payload: '0', result: null });
    const dead = await deadJob(db, { payload: 'own copy' });
    await db.query('DELETE FROM millrace.payloads');
    expect(await get(db, dead.id, { payload: true, result: false })).toMatchObject({ payload: '"own copy"' });
  });
});
