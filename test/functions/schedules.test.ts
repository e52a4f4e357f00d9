import { pause } from '../../functions/queue/pause.ts';
import { logged } from '../queue/operator-log.ts';
import { counterOf, pendingJob } from '../support/factories.ts';
import { declaredSchedule } from '../support/schedules.ts';
import { describe, expect, expectProblem, test } from './api.ts';

/** The jobs of a schedule that are live. */
const LIVE = 'SELECT id, kind, queue, request_id FROM millrace.live_jobs WHERE schedule_name = $1';

describe('GET /schedules', () => {
  test('lists them by name, with what became of the last fire time, and without payloads', async ({ call, db }) => {
    await declaredSchedule(db, { name: 'sync', every: '5m', firedMinutesAgo: 3, outcome: 'overlap', queue: 'mail' });
    await declaredSchedule(db, { name: 'report', payload: { of: 'a secret' }, firedMinutesAgo: 60 });
    await pause(db, 'schedule', 'sync');
    await pause(db, 'kind', 'report');
    const { status, text, body } = await call('GET', '/schedules', { as: 'reader' });
    expect(status).toBe(200);
    expect(text).not.toContain('a secret');
    expect(body.schedules).toMatchObject([
      {
        name: 'report',
        cron: '0 2 * * *',
        every: null,
        zone: 'Europe/Berlin',
        kind: 'report.build',
        paused: false,
        last_outcome: 'fired',
        last_job_id: expect.any(String),
      },
      { name: 'sync', cron: null, every: '5m', zone: null, queue: 'mail', paused: true, last_job_id: null },
    ]);
    const [{ next_fire_at, last_fire_at }] = body.schedules;
    expect(Date.parse(next_fire_at) - Date.parse(last_fire_at)).toBe(2 * 3_600_000);
  });

  test('is empty where nothing is declared', async ({ call }) => {
    expect(await call('GET', '/schedules')).toMatchObject({ status: 200, body: { schedules: [] } });
  });

  test('takes no filter, so that nobody takes all for what fits one', async ({ call }) => {
    const answer = await call('GET', '/schedules?kind=report.build');
    expectProblem(answer, 400, 'invalid-query');
    expect(answer.body.errors).toEqual([{ pointer: '/kind', detail: expect.stringContaining('not a parameter') }]);
  });
});

describe('POST /schedules/{name}/fire', () => {
  test('makes a job of the declared kind, queue and payload, and says where it is', async ({ call, db }) => {
    const name = await declaredSchedule(db, { queue: 'mail', payload: { of: 'today' } });
    const { status, body, headers } = await call('POST', `/schedules/${name}/fire`);
    expect([status, headers.location]).toEqual([201, `/jobs/${body.id}`]);
    expect(body).toMatchObject({ kind: 'report.build', queue: 'mail', status: 'pending', errors: [] });
    expect(body.request_id).toMatch(/^schedule\/report\.nightly\/\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect((await call('GET', `${headers.location}?include=payload`)).body.payload).toEqual({ of: 'today' });
    expect(await counterOf(db, 'report.build', 'enqueued')).toBe(1);
    expect(await logged(db)).toMatchObject([
      { actor: 'test-operator', action: 'fire', target: { schedule: name, id: body.id }, count: 1 },
    ]);
  });

  test('leaves the fire times as they are', async ({ call, db }) => {
    const name = await declaredSchedule(db, { firedMinutesAgo: 60 });
    const { schedules: before } = (await call('GET', '/schedules')).body;
    await call('POST', `/schedules/${name}/fire`);
    expect((await call('GET', '/schedules')).body.schedules).toEqual(before);
  });

  test('makes one also while it is paused', async ({ call, db }) => {
    const name = await declaredSchedule(db);
    await call('POST', `/schedules/${name}/pause`);
    expect((await call('POST', `/schedules/${name}/fire`)).status).toBe(201);
  });

  test('409 that names the job that has not ended; not where they may overlap', async ({ call, db }) => {
    const name = await declaredSchedule(db);
    const other = await declaredSchedule(db, { name: 'other', overlap: 'allow' });
    const { id } = (await call('POST', `/schedules/${name}/fire`)).body;
    const answer = await call('POST', `/schedules/${name}/fire`);
    expectProblem(answer, 409, 'schedule-overlap');
    expect(answer.body).toMatchObject({ job_id: id, detail: expect.stringContaining(id) });
    await call('POST', `/schedules/${other}/fire`);
    expect((await call('POST', `/schedules/${other}/fire`)).status).toBe(201);
    expect((await db.query(LIVE, [name])).rows).toHaveLength(1);
    expect((await db.query(LIVE, [other])).rows).toHaveLength(2);
    // Once it has ended, the way is free.
    await call('POST', `/jobs/${id}/cancel`);
    expect((await call('POST', `/schedules/${name}/fire`)).status).toBe(201);
  });

  test('a job of its kind that it has not made is in nobody’s way', async ({ call, db }) => {
    const name = await declaredSchedule(db);
    await pendingJob(db, { kind: 'report.build' });
    expect((await call('POST', `/schedules/${name}/fire`)).status).toBe(201);
  });

  test('a resend is answered with the job of the first time, another request makes its own', async ({ call, db }) => {
    const name = await declaredSchedule(db, { overlap: 'allow' });
    const fire = (requestId: string) =>
      call('POST', `/schedules/${name}/fire`, { headers: { 'x-request-id': requestId } });
    const first = await fire('one');
    const again = await fire('one');
    expect([again.status, again.body.id]).toEqual([201, first.body.id]);
    expect((await fire('other')).body.id).not.toBe(first.body.id);
    expect((await db.query(LIVE, [name])).rows).toHaveLength(2);
    expect((await logged(db)).map(({ requestId }) => requestId)).toEqual(['one', 'other']);
  });
});

describe('POST /schedules/{name}/pause and resume', () => {
  test('say how it stands, and can be repeated', async ({ call, db }) => {
    const name = await declaredSchedule(db);
    for (const [verb, paused] of [
      ['pause', true],
      ['pause', true],
      ['resume', false],
      ['resume', false],
    ] as const) {
      const answer = await call('POST', `/schedules/${name}/${verb}`);
      expect(answer).toMatchObject({ status: 200, body: { schedule: name, paused } });
      expect((await call('GET', '/schedules')).body.schedules).toMatchObject([{ paused }]);
    }
    expect((await logged(db)).map(({ action, target }) => [action, target])).toEqual([
      ['pause', { schedule: name }],
      ['resume', { schedule: name }],
    ]);
  });

  test('/ready tells what is paused', async ({ call, db }) => {
    const name = await declaredSchedule(db);
    await call('POST', `/schedules/${name}/pause`);
    expect((await call('GET', '/ready')).body.paused).toEqual([{ scope: 'schedule', name }]);
  });

  test('a pause can be ended though its schedule is gone', async ({ call, db }) => {
    const name = await declaredSchedule(db);
    await call('POST', `/schedules/${name}/pause`);
    await db.query('DELETE FROM millrace.schedules');
    expect((await call('POST', `/schedules/${name}/resume`)).status).toBe(200);
    expectProblem(await call('POST', `/schedules/${name}/resume`), 404, 'no-such-schedule');
  });
});

test.for(['fire', 'pause', 'resume'])(
  '%s: 404 where no worker has declared it, and nothing is done',
  async (verb, { call, db }) => {
    await declaredSchedule(db);
    const answer = await call('POST', `/schedules/report.nightyl/${verb}`);
    expectProblem(answer, 404, 'no-such-schedule');
    expect(answer.body.detail).toContain('report.nightyl');
    expect((await db.query('SELECT FROM millrace.pauses UNION ALL SELECT FROM millrace.live_jobs')).rows).toEqual([]);
    expect(await logged(db)).toEqual([]);
  },
);

test.for(['fire', 'pause', 'resume'])('%s: 400 for what no schedule can be called', async (verb, { call }) => {
  for (const name of ['-x', 'a b', 'ä', 'x'.repeat(101)]) {
    const answer = await call('POST', `/schedules/${encodeURIComponent(name)}/${verb}`);
    expectProblem(answer, 400, 'invalid-name');
    expect(answer.body.detail).toContain('name of a schedule');
  }
});
