import * as z from 'zod';
import { aesGcm } from '../../functions/queue/aes-codec.ts';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { CATCH_UP_LIMIT } from '../../functions/queue/due-times.ts';
import { enqueue } from '../../functions/queue/enqueue-typed.ts';
import { FIRE_BATCH, Firing, firingOf } from '../../functions/queue/firing.ts';
import { listSchedules } from '../../functions/queue/list-schedules.ts';
import { pause } from '../../functions/queue/pause.ts';
import { type Schedule, schedule } from '../../functions/queue/schedule.ts';
import { recorder, runOn, until } from '../lifecycle/ground.ts';
import { describe, expect, openClient, test } from '../support/fixtures.ts';

const KIND = 'report.send';
const contracts = {
  [KIND]: defineJob({ payload: z.object({ n: z.number() }), timeoutSeconds: 5 }),
  'other.kind': defineJob({ payload: z.unknown(), queue: 'other' }),
};
const daily = schedule({ name: 'daily', cron: '0 0 * * *', kind: KIND, payload: { n: 1 } });
const secondly = schedule({ name: 'secondly', every: '1s', kind: KIND, payload: { n: 2 }, overlap: 'allow' });

function firing(...schedules: Schedule[]) {
  const events = recorder();
  const started = firingOf({ contracts, schedules, queues: ['default'] }, events.emit);
  return { firing: started as Firing, ...events };
}

/** Counts what it is asked. */
function counting(db: Db): Db & { statements: string[] } {
  const statements: string[] = [];
  return {
    statements,
    query: (text, values) => {
      statements.push(String(text));
      return db.query(text, values);
    },
  };
}

/** As if nobody had been there for so many days. */
async function away(db: Db, days: number): Promise<void> {
  await db.query('UPDATE millrace.schedules SET fired_until = fired_until - make_interval(days => $1)', [days]);
}

const jobs = async (db: Db) =>
  (
    await db.query<{ name: string; at: string }>(
      `SELECT schedule_name AS name, split_part(request_id, '/', 3) AS at FROM millrace.jobs ORDER BY request_id`,
    )
  ).rows;

describe('a start', () => {
  test('declares in one statement, and in another has what is shown of the next fire time put right', async ({
    db,
  }) => {
    const first = firing(daily);
    const asked = counting(db);
    await first.firing.fire(asked);
    expect(asked.statements).toHaveLength(2);
    const [seen] = await listSchedules(db);
    expect(seen?.next_fire_at).toMatch(/T00:00:00\.000000Z$/);

    const again = counting(db);
    await firing(daily).firing.fire(again);
    expect(again.statements).toHaveLength(1);
    expect(await jobs(db)).toEqual([]);
  });

  test('rests until the first fire time, and asks for nothing meanwhile', async ({ db }) => {
    const { firing: one } = firing(daily);
    expect(one.restMs(performance.now())).toBe(0);
    await one.fire(db);
    expect(one.restMs(performance.now())).toBeGreaterThan(0);
    const asked = counting(db);
    await one.fire(asked);
    expect(asked.statements).toEqual([]);
  });

  test.for([
    ['latest', 'skip', 1],
    ['none', 'skip', 0],
    ['all', 'allow', 3],
  ] as const)('after three days away makes up for %s', async ([catchUp, overlap, made], { db }) => {
    // Twelve hours ago it was due last.
    const cron = `0 ${(new Date().getUTCHours() + 12) % 24} * * *`;
    const one = { ...daily, cron, catchUp, overlap };
    await firing(one).firing.fire(db);
    await away(db, 3);
    const started = firing(one);
    await started.firing.fire(db);
    expect(started.named('schedule.fired')).toHaveLength(made);
    const times = (await jobs(db)).map(({ at }) => Date.parse(at));
    expect(times).toEqual([...times.keys()].map((n) => (times[0] as number) + n * 86_400_000));
    expect(started.named('schedule.passed').map(({ why }) => why)).toEqual(made === 0 ? ['missed'] : []);
    expect((await listSchedules(db))[0]?.last_outcome).toBe(made === 0 ? 'missed' : 'fired');
  });

  test('makes up for much in many statements, each of a bounded size, and jobs are claimed between them', async ({
    db,
  }) => {
    const many = Array.from({ length: 5 }, (_, n) => ({ ...secondly, name: `s${n}`, catchUp: 'all' as const }));
    await firing(...many).firing.fire(db);
    await away(db, 1);
    const started = firing(...many);
    const sent: number[] = [];
    const watched: Db = {
      query: (text, values) => {
        if (!String(text).includes('fire_schedules')) return db.query(text, values);
        const fires: { times: string[] }[] = JSON.parse(String(values?.[0]));
        sent.push(fires.reduce((sum, { times }) => sum + times.length, 0));
        return db.query(text, values);
      },
    };
    let rounds = 0;
    for (; started.firing.restMs(performance.now()) === 0; rounds++) await started.firing.fire(watched);
    expect(Math.max(...sent)).toBeLessThanOrEqual(FIRE_BATCH);
    // One a round: between them the run claims.
    expect(sent).toHaveLength(rounds);
    expect(rounds).toBeGreaterThanOrEqual((5 * CATCH_UP_LIMIT) / FIRE_BATCH);
    const times = await jobs(db);
    expect(new Set(times.map(({ name, at }) => `${name} ${at}`)).size).toBe(times.length);
    for (const { name } of many) {
      const own = times.filter((one) => one.name === name).map(({ at }) => Date.parse(at));
      expect(own.length).toBeGreaterThanOrEqual(CATCH_UP_LIMIT);
      expect((own.at(-1) as number) - (own[0] as number)).toBe((own.length - 1) * 1_000);
    }
  });

  test('has nothing to fire of queues that others serve, nor without schedules', () => {
    const other = schedule({ name: 'other', every: '1d', kind: 'other.kind', payload: 1 });
    expect(firingOf({ contracts, schedules: [other], queues: ['default'] }, () => {})).toBeUndefined();
    expect(firingOf({ contracts, queues: ['default'] }, () => {})).toBeUndefined();
    expect(firingOf({ contracts, schedules: [other], queues: ['other'] }, () => {})).toBeInstanceOf(Firing);
  });

  test('of a run with a schedule that is none is refused', async ({ databaseUrl }) => {
    const processors = { [KIND]: () => {}, 'other.kind': () => {} };
    await expect(runOn(databaseUrl, { contracts, processors, schedules: [{ ...daily, every: '1x' }] })).rejects.toThrow(
      'give it cron or every, not both',
    );
    const other = schedule({ name: 'other', every: '1x', kind: 'other.kind', payload: 1 });
    await expect(
      runOn(databaseUrl, { contracts, processors, schedules: [other], queues: ['default'] }),
    ).rejects.toThrow('every must be');
  });
});

/** Does something once the schedules are declared, before they fire. */
function onceDeclared(db: Db, then: () => Promise<unknown>): Db {
  return {
    query: async (text, values) => {
      const answer = await db.query(text, values);
      if (String(text).includes('declare_schedules')) await then();
      return answer as never;
    },
  };
}

describe('what goes wrong', () => {
  test('costs a schedule that the database refuses only itself, and it is tried again in a minute', async ({
    db,
    databaseUrl,
  }) => {
    const schedules = [secondly, { ...secondly, name: 'bad' }];
    await firing(...schedules).firing.fire(db);
    await away(db, 1);
    const started = firing(...schedules);
    const spoil = () => db.query(`UPDATE millrace.schedules SET kind = 'no kind' WHERE name = 'bad'`);
    // As a run does, over one connection: the server lets go of the rows after it has told of the refusal.
    const own = await openClient(databaseUrl);
    await started.firing.fire(onceDeclared(own, spoil)).finally(() => own.end());
    expect(started.named('schedule.failed')).toEqual([
      { name: 'schedule.failed', schedule: 'bad', reason: expect.stringContaining('live_jobs_kind_check') },
    ]);
    expect((await jobs(db)).map(({ name }) => name)).toEqual(['secondly']);
    const asked = counting(db);
    await until(() => started.firing.restMs(performance.now()) === 0);
    await started.firing.fire(asked);
    expect(started.named('schedule.failed')).toHaveLength(1);
    expect(asked.statements).toHaveLength(1);
  });

  test("a lost answer is the run's to mend, and what was sent may be sent again", async ({ db }) => {
    await firing(secondly).firing.fire(db);
    await away(db, 1);
    const lost = Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
    const cut: Db = {
      query: async (text, values) => {
        const answer = await db.query(text, values);
        if (String(text).includes('fire_schedules')) throw lost;
        return answer as never;
      },
    };
    const started = firing(secondly);
    await expect(started.firing.fire(cut)).rejects.toBe(lost);
    const [made, ...more] = await jobs(db);
    expect(more).toEqual([]);
    await started.firing.fire(db);
    expect((await jobs(db)).filter(({ at }) => at === made?.at)).toHaveLength(1);
  });

  test('again and again keeps no run from its jobs: it is tried at once, and then less and less often', async ({
    db,
    databaseUrl,
  }) => {
    await firing(secondly).firing.fire(db);
    await away(db, 1);
    // What a statement says that always takes longer than it may.
    const cancelled = Object.assign(new Error('canceling statement'), { code: '57014', severity: 'ERROR' });
    const slow: Db = {
      query: async (text, values) => {
        if (String(text).includes('fire_schedules')) throw cancelled;
        return db.query(text, values);
      },
    };
    const started = firing(secondly);
    await expect(started.firing.fire(slow)).rejects.toBe(cancelled);
    expect(started.firing.restMs(performance.now())).toBe(0);
    await expect(started.firing.fire(slow)).rejects.toBe(cancelled);
    expect(started.firing.restMs(performance.now())).toBeGreaterThan(900);
    await started.firing.fire(slow);

    await enqueue(db, contracts, { kind: KIND, payload: { n: 3 } });
    const refusing = async () => {
      const client = await openClient(databaseUrl);
      const query = client.query.bind(client);
      client.query = ((text: string, values?: unknown[]) =>
        text.includes('fire_schedules') ? Promise.reject(cancelled) : query(text, values)) as typeof client.query;
      return client;
    };
    const summary = await runOn(databaseUrl, {
      contracts,
      processors: { [KIND]: () => {}, 'other.kind': () => {} },
      schedules: [secondly],
      slot: { worker: 'w', slot: 0, woken: false },
      lingerSeconds: 0,
      connect: refusing,
    });
    expect(summary).toMatchObject({ completed: 1, reason: 'emptied' });
  });

  test('a worker that may not declare says so for each, and goes on', async ({ db }) => {
    const started = firing(daily);
    const refusal = Object.assign(new Error('permission denied for function declare_schedules'), {
      code: '42501',
      severity: 'ERROR',
    });
    await started.firing.fire({ query: () => Promise.reject(refusal) });
    expect(started.named('schedule.failed')).toEqual([
      { name: 'schedule.failed', schedule: 'daily', reason: 'permission denied for function declare_schedules' },
    ]);
    const rest = started.firing.restMs(performance.now());
    expect(rest).toBeGreaterThan(50_000);
    expect(await listSchedules(db)).toEqual([]);
  });

  test('other times that were declared since end it for this run', async ({ db }) => {
    await firing(secondly).firing.fire(db);
    await away(db, 1);
    const old = firing(secondly);
    const deploy = () => firing({ ...secondly, every: '1d' }).firing.fire(db);
    await old.firing.fire(onceDeclared(db, deploy));
    expect(old.named('schedule.passed')).toMatchObject([{ why: 'superseded' }]);
    expect(old.firing.restMs(performance.now())).toBeGreaterThan(50_000);
    expect(await jobs(db)).toEqual([]);
  });

  test("a clock that is taken to be ahead of the database's brings nothing early, and is put right", async ({ db }) => {
    const often = schedule({ name: 'often', every: '2s', kind: KIND, payload: { n: 3 } });
    const ahead: Db = {
      query: async (text, values) => {
        const { rows } = await db.query<{ now: number }>(text, values);
        if (String(text).includes('declare_schedules')) for (const row of rows) row.now += 3_600_000;
        return { rows, rowCount: rows.length } as never;
      },
    };
    const started = firing(often);
    await started.firing.fire(ahead);
    expect(started.named('schedule.fired')).toEqual([]);
    expect(await jobs(db)).toEqual([]);
    // The first one is still to come, and not the one that was asked for.
    expect(started.firing.restMs(performance.now())).toBeLessThanOrEqual(2_000);
  });
});

describe('a run', () => {
  const processors = { [KIND]: (_: unknown, ctx: Context) => ctx.job.schedule, 'other.kind': () => 1 };

  test('fires what it missed before it looks for jobs, and its processor knows for when', async ({
    db,
    databaseUrl,
  }) => {
    await firing(daily).firing.fire(db);
    await away(db, 2);
    const slot = { worker: 'w', slot: 0, woken: false };
    const summary = await runOn(databaseUrl, { contracts, processors, schedules: [daily], slot });
    expect(summary).toMatchObject({ completed: 1 });
    const [job] = await jobs(db);
    const { rows } = await db.query('SELECT result FROM millrace.jobs');
    expect(rows).toEqual([{ result: { name: 'daily', fireAt: job?.at } }]);
    expect(Date.parse(job?.at ?? '')).toBeLessThan(Date.now());
  });

  test('in a slot above the first fires nothing', async ({ db, databaseUrl }) => {
    await runOn(databaseUrl, {
      contracts,
      processors,
      schedules: [daily],
      slot: { worker: 'w', slot: 1, woken: false },
    });
    expect(await listSchedules(db)).toEqual([]);
  });

  test('fires while it goes on, each time once and on time, however many there are', async ({ db, databaseUrl }) => {
    const enough = new AbortController();
    const events = recorder();
    const all = [1, 2, 3].map(() =>
      runOn(databaseUrl, {
        contracts,
        processors,
        // Also if this machine stands still for longer than a second.
        schedules: [{ ...secondly, catchUp: 'all' }],
        lingerSeconds: Infinity,
        finish: enough.signal,
        emit: events.emit,
      }),
    );
    await until(() => events.named('schedule.fired').length >= 3);
    enough.abort();
    await Promise.all(all);
    const times = (await jobs(db)).map(({ at }) => Date.parse(at));
    expect(times).toHaveLength(events.named('schedule.fired').length);
    // One second after the other: none left out, none twice.
    for (const [n, time] of times.entries()) expect(time - (times[0] as number)).toBe(n * 1000);
    expect(events.named('schedule.failed')).toEqual([]);
  });

  test('passes the fire times of one that is paused', async ({ db, databaseUrl }) => {
    await firing(daily).firing.fire(db);
    await away(db, 2);
    await pause(db, 'schedule', 'daily');
    const events = recorder();
    await runOn(databaseUrl, { contracts, processors, schedules: [daily], emit: events.emit });
    expect(events.named('schedule.passed')).toMatchObject([{ why: 'paused', schedule: 'daily' }]);
    expect(await jobs(db)).toEqual([]);
  });

  test('keeps a sealed payload sealed, and its processor reads it', async ({ db, databaseUrl }) => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const sealing = {
      [KIND]: defineJob({ payload: z.object({ n: z.number() }), timeoutSeconds: 5, codec: aesGcm(() => key) }),
    };
    const read: unknown[] = [];
    const once = () =>
      runOn(databaseUrl, {
        contracts: sealing,
        processors: { [KIND]: (payload) => void read.push(payload) },
        schedules: [daily],
      });
    await once();
    await away(db, 2);
    expect(await once()).toMatchObject({ completed: 1 });
    expect(read).toEqual([{ n: 1 }]);
    const { rows } = await db.query<{ payload: object }>('SELECT payload FROM millrace.schedules');
    expect(Object.keys(rows[0]?.payload ?? {})).toEqual(['$sealed']);
  });
});
