import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import * as z from 'zod';
import { clearPresence } from '../../functions/queue/clear-presence.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import { RESCAN_SECONDS } from '../../functions/queue/marks.ts';
import { RENEW_MS } from '../../functions/queue/presence.ts';
import { PRESENCE_SECONDS, renewPresence } from '../../functions/queue/renew-presence.ts';
import { schedule } from '../../functions/queue/schedule.ts';
import { POLL_MS } from '../../functions/queue/supply.ts';
import { takeSlot } from '../../functions/queue/take-slot.ts';
import { connectTo, recorder, remaining, runOn, until } from '../lifecycle/ground.ts';
import { pendingJob, rowOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const kind = 'test.kind';
const jobs = {
  contracts: { [kind]: defineJob({ payload: z.unknown(), timeoutSeconds: 5 }) },
  processors: { [kind]: () => sleep(1) },
};
const slot = { worker: 'work', slot: 0, woken: false };

describe('the slot', () => {
  test('is taken from whom it was seen with, once', async ({ db }) => {
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const nobody = { token: null, holder: undefined };
    expect(await takeSlot(db, slot, first, 10, nobody)).toBe(true);
    expect(await takeSlot(db, slot, first, 10, nobody), 'its answer was lost').toBe(true);
    expect(await takeSlot(db, slot, second, 10, nobody), 'it saw nobody').toBe(false);
    const seen = { token: first, holder: { ageSeconds: 31 } };
    expect(await takeSlot(db, slot, second, 10, seen)).toBe(true);
    expect(await takeSlot(db, slot, third, 10, seen), 'it saw the first').toBe(false);
    expect(await renewPresence(db, slot, first, 10)).toBe(false);
    expect(await renewPresence(db, slot, second, 10)).toBe(true);
  });

  test('whose holder was seen to have left, and is back, is not taken', async ({ db }) => {
    const [first, second] = [randomUUID(), randomUUID()];
    await takeSlot(db, slot, first, 10, { token: null, holder: undefined });
    await clearPresence(db, slot, first);
    await renewPresence(db, slot, first, 10);
    expect(await takeSlot(db, slot, second, 10, { token: first, holder: undefined })).toBe(false);
    await clearPresence(db, slot, first);
    expect(await takeSlot(db, slot, second, 10, { token: first, holder: undefined })).toBe(true);
    await clearPresence(db, slot, first);
    expect(await presentFor(db), 'who has lost it clears nothing').toBeGreaterThan(5);
  });

  test('knows for how long jobs take a place, the last of them the most', async ({ db }) => {
    const token = randomUUID();
    await takeSlot(db, slot, token, 10, { token: null, holder: undefined });
    const seconds = async () => (await db.query('SELECT job_seconds FROM millrace.slots')).rows[0].job_seconds;
    await renewPresence(db, slot, token, 10);
    expect(await seconds()).toBeNull();
    await renewPresence(db, slot, token, 10, 4);
    expect(await seconds()).toBe(4);
    await renewPresence(db, slot, token, 10, 2);
    expect(await seconds()).toBe(3);
    await clearPresence(db, slot, token, 1);
    expect(await seconds()).toBe(2);
  });
});

describe('a run in a slot', () => {
  test('says that it claims for as long as it does, and what its jobs took', async ({ db, databaseUrl }) => {
    await pendingJob(db);
    const end = new AbortController();
    const events = recorder();
    const running = runOn(databaseUrl, {
      ...jobs,
      slot,
      lingerSeconds: Infinity,
      finish: end.signal,
      emit: events.emit,
    });
    await until(() => events.named('job.completed').length === 1);
    expect(await presentFor(db)).toBeGreaterThan(PRESENCE_SECONDS - RENEW_MS / 1000 - 1);
    end.abort();
    expect(await running).toMatchObject({ completed: 1, reason: 'drained' });
    expect(await presentFor(db)).toBeLessThanOrEqual(0);
    const { rows } = await db.query('SELECT job_seconds FROM millrace.slots');
    expect(rows[0].job_seconds).toBeGreaterThan(0.001);
    expect(rows[0].job_seconds).toBeLessThan(5);
  });

  test('is believed in no longer than it can claim', async ({ db, databaseUrl }) => {
    const end = new AbortController();
    const options = { ...jobs, slot, lingerSeconds: Infinity, remainingMs: remaining(15_000), finish: end.signal };
    const running = runOn(databaseUrl, options);
    const seconds = await until(() => presentFor(db));
    // 15 s without the drain, the job's own time and the last claim.
    expect(seconds).toBeLessThanOrEqual(4);
    end.abort();
    await running;
  });

  test('that finds the database gone at first begins later', async ({ db, databaseUrl }) => {
    await pendingJob(db);
    let refused = 0;
    const connect = async () => {
      if (refused++ < 3) throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      return connectTo(databaseUrl)();
    };
    const events = recorder();
    expect(await runOn(databaseUrl, { ...jobs, slot, connect, emit: events.emit })).toMatchObject({ completed: 1 });
    expect(events.named('database.failed')).toHaveLength(3);
    expect(events.named('database.failed')[0]).toMatchObject({ during: 'begin', code: 'ECONNREFUSED' });
  });

  test('whose start was answered but not heard has the slot all the same', async ({ db, databaseUrl }) => {
    await pendingJob(db);
    let lost = 0;
    const connect = async () => {
      const connection = await connectTo(databaseUrl)();
      const query = connection.query.bind(connection);
      connection.query = (async (text: string, values?: unknown[]) => {
        const answer = await query(text, values);
        if (text.includes('INTO millrace.slots') && lost++ === 0) throw new Error('the answer is lost');
        return answer;
      }) as never;
      return connection;
    };
    expect(await runOn(databaseUrl, { ...jobs, slot, connect })).toMatchObject({ completed: 1, reason: 'emptied' });
  });

  test('begins with a job that takes four fifths of it by the second tick, though there are always short and urgent ones', async ({
    db,
    databaseUrl,
  }) => {
    const both = {
      contracts: { ...jobs.contracts, long: defineJob({ payload: z.unknown(), timeoutSeconds: 48 }) },
      processors: { [kind]: () => sleep(5), long: () => 'done' },
    };
    let feeding = true;
    const put = () => db.query(`SELECT millrace.enqueue('${kind}', '1', priority => 5) FROM generate_series(1, 40)`);
    const feed = async () => {
      for (; feeding; await sleep(20)) await put();
    };
    await put();
    const fed = feed();
    const end = new AbortController();
    const run = (ms: number, emit = recorder().emit) =>
      runOn(databaseUrl, {
        ...both,
        slot,
        concurrency: 4,
        remainingMs: remaining(ms),
        lingerSeconds: 60,
        signal: end.signal,
        emit,
      });
    try {
      // Of a run of a minute ten seconds have gone by: it is too late for the long one.
      const first = run(50_000);
      await until(() => presentFor(db));
      const long = await pendingJob(db, { kind: 'long' });
      await db.query(`UPDATE millrace.slots SET started_at = started_at - interval '1 minute'`);
      const events = recorder();
      const second = run(60_000, events.emit);
      expect(await first).toMatchObject({ reason: 'relieved' });
      await until(async () => (await rowOf(db, long.id))?.status === 'completed');
      expect(events.named('job.claimed').filter((one) => one.kind === kind).length).toBeGreaterThan(0);
      expect((await db.query('SELECT FROM millrace.live_jobs')).rowCount, 'short ones are left').toBeGreaterThan(0);
      end.abort();
      await second;
    } finally {
      feeding = false;
      end.abort();
      await fed;
    }
  });
});

describe('statements', () => {
  const counting = (url: string, sent: string[]) => async () => {
    const connection = await connectTo(url)();
    const query = connection.query.bind(connection);
    connection.query = ((text: string, values?: unknown[]) => {
      sent.push(text);
      return query(text, values);
    }) as never;
    return connection;
  };
  const schedules = [schedule({ name: 'yearly', cron: '0 0 1 1 *', kind, payload: 1 })];

  test.for([
    ['an empty tick', {}, 1, 'emptied'],
    ['an empty tick of a worker with schedules', { schedules }, 2, 'emptied'],
    ['a tick above the first that is not needed', { slot: { ...slot, slot: 1 }, schedules }, 1, 'unneeded'],
  ] as const)('%s', async ([, options, statements, reason], { databaseUrl }) => {
    // The first of all has the schedules to write down, and marks.
    await runOn(databaseUrl, { ...jobs, slot, ...options });
    const sent: string[] = [];
    const summary = await runOn(databaseUrl, { ...jobs, slot, connect: counting(databaseUrl, sent), ...options });
    expect(summary).toMatchObject({ claimed: 0, reason });
    expect(sent).toHaveLength(statements);
  });

  test('of a run that lingers: fewer than ten a second', async ({ db, databaseUrl }) => {
    await runOn(databaseUrl, { ...jobs, slot });
    // In a moment somebody is to look back.
    await db.query(`UPDATE millrace.claim_marks SET rescanned_at = now() - interval '29 s'`);
    const sent: string[] = [];
    const end = new AbortController();
    const connect = counting(databaseUrl, sent);
    const running = runOn(databaseUrl, { ...jobs, slot, connect, lingerSeconds: Infinity, finish: end.signal });
    const isClaim = (text: string) => text.includes('FROM millrace.claim(');
    const isPresence = (text: string) => text.includes('millrace.slots');
    const isRescan = (text: string) => !isClaim(text) && !isPresence(text);
    const claims = () => sent.filter(isClaim).length;
    // What goes before is of the start.
    await until(() => claims() === 2);
    const from = sent.length;
    await until(() => sent.slice(from).some(isRescan));
    const last = claims() + 2;
    await until(() => claims() === last);
    const rescan = sent.slice(from).filter(isRescan).length;
    end.abort();
    await running;
    expect(1000 / POLL_MS + 1000 / RENEW_MS + rescan / RESCAN_SECONDS).toBeLessThan(10);
  });
});

/** Seconds for which others believe that somebody claims; `undefined`: there is no row. */
async function presentFor(db: pg.Pool): Promise<number | undefined> {
  const { rows } = await db.query(
    'SELECT extract(epoch FROM present_until - clock_timestamp())::float8 AS seconds FROM millrace.slots',
  );
  return rows[0]?.seconds;
}
