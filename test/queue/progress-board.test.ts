import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import * as z from 'zod';
import { Bell } from '../../functions/queue/bell.ts';
import type { Context } from '../../functions/queue/context.ts';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { ProgressBoard } from '../../functions/queue/progress-board.ts';
import { reap } from '../../functions/queue/reap.ts';
import { connectTo, recorder, runOn, until } from '../lifecycle/ground.ts';
import { ageLive, expireLease, pendingJob, processingJob, rowOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';

const kind = 'test.kind';
const doing = (processor: (payload: Record<string, unknown>, ctx: Context) => unknown) => ({
  contracts: { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 20 }) },
  processors: { [kind]: processor },
});

/** Connections that count their statements of progress, and the rows that those wrote. */
function counted(url: string) {
  const told: number[] = [];
  const connect = async () => {
    const connection = await connectTo(url)();
    const query = connection.query.bind(connection);
    connection.query = (async (text: string, values?: unknown[]) => {
      const answer = await query(text, values);
      if (text.includes('INSERT INTO millrace.job_progress')) told.push(answer.rows.length);
      return answer;
    }) as never;
    return connection;
  };
  return { connect, told };
}

describe('a run', () => {
  test('what a job says is there while it runs', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    const gate = Promise.withResolvers<void>();
    const running = runOn(
      databaseUrl,
      doing((_, { progress }) => {
        progress(0.25, 'first of four');
        return gate.promise;
      }),
    );
    await until(async () => (await rowOf(db, job.id))?.progress_at);
    expect(await rowOf(db, job.id)).toMatchObject({ progress: 0.25, progress_note: 'first of four' });
    gate.resolve();
    expect(await running).toMatchObject({ completed: 1 });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', progress: null, progress_note: null });
  });

  test('two hundred jobs that never stop saying something: one statement a second', async ({ db, databaseUrl }) => {
    await db.query(`SELECT millrace.enqueue($1, '{}') FROM generate_series(1, 200)`, [kind]);
    const { connect, told } = counted(databaseUrl);
    const over = AbortSignal.timeout(2_500);
    const { durationMs, ...summary } = await runOn(databaseUrl, {
      ...doing(async (_, { progress }) => {
        for (let n = 0; !over.aborted; n++) {
          progress((n % 100) / 100, `step ${n}`);
          await sleep(20);
        }
      }),
      concurrency: 200,
      connect,
    });
    expect(summary).toMatchObject({ completed: 200 });
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(told.length).toBeLessThanOrEqual(1 + durationMs / 1_000);
    expect(Math.max(...told)).toBe(200);
  });

  test('a job that says something a million times in a loop costs one statement at most', async ({
    db,
    databaseUrl,
  }) => {
    await pendingJob(db);
    const { connect, told } = counted(databaseUrl);
    const summary = await runOn(databaseUrl, {
      ...doing(async (_, { progress }) => {
        for (let n = 1; n <= 1_000_000; n++) progress(n / 1_000_000, 'on its way');
        await until(() => told.length > 0);
      }),
      connect,
    });
    expect(summary).toMatchObject({ completed: 1 });
    expect(told).toEqual([1]);
    expect((await db.query('SELECT fraction FROM millrace.job_progress')).rows).toEqual([{ fraction: 1 }]);
  });

  test('a job that was taken away writes nothing over what the next one says', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    const [gate, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { connect, told } = counted(databaseUrl);
    const events = recorder();
    const late = runOn(databaseUrl, {
      ...doing(async (_, { progress }) => {
        await gate.promise;
        progress(0.9, 'late');
        await until(() => told.length > 0);
      }),
      emit: events.emit,
      connect,
    });
    await until(() => events.named('job.claimed').length === 1);
    await expireLease(db, job.id);
    await reap(db, { limit: 10 });
    await ageLive(db, job.id, 60);
    const overtakes = runOn(
      databaseUrl,
      doing(async (_, { progress }) => {
        progress(0.1, 'in time');
        await end.promise;
      }),
    );
    await until(async () => (await rowOf(db, job.id))?.progress === 0.1);
    gate.resolve();
    expect(await late).toMatchObject({ overtaken: 1 });
    expect(told).toEqual([0]);
    expect(await rowOf(db, job.id)).toMatchObject({ progress: 0.1, progress_note: 'in time' });
    end.resolve();
    expect(await overtakes).toMatchObject({ completed: 1 });
  });

  test('a database that refuses progress fails no job, and says so once for many', async ({ db, databaseUrl }) => {
    for (let n = 0; n < 20; n++) await pendingJob(db);
    await db.query('ALTER TABLE millrace.job_progress RENAME TO job_progress_away');
    const events = recorder();
    try {
      const summary = await runOn(databaseUrl, {
        ...doing(async (_, { progress }) => {
          progress(0.5);
          await until(() => events.named('database.failed').length > 0);
          progress(0.6);
        }),
        emit: events.emit,
      });
      expect(summary).toMatchObject({ claimed: 20, completed: 20, reason: 'emptied' });
    } finally {
      await db.query('ALTER TABLE millrace.job_progress_away RENAME TO job_progress');
    }
    expect(events.named('database.failed')).toMatchObject([{ during: 'progress', code: '42P01' }]);
  });

  test('what an attempt leaves behind says nothing any more', async ({ db, databaseUrl }) => {
    const job = await pendingJob(db);
    const left = Promise.withResolvers<void>();
    await runOn(
      databaseUrl,
      doing((_, { progress }) => {
        setImmediate()
          .then(() => progress(0.5))
          .then(left.resolve, left.reject);
        throw new Error('boom');
      }),
    );
    await left.promise;
    await runOn(databaseUrl, { ...doing(() => 1), lingerSeconds: 0.1 });
    expect(await rowOf(db, job.id)).toMatchObject({ status: 'pending', progress_at: null });
  });
});

describe('the board', () => {
  const claim = { id: '0198c0de-0000-7000-8000-000000000001', token: '0198c0de-0000-4000-8000-000000000001' };
  /** Keeps what it is sent, and answers the next statement with this error, if one is set. */
  const recording = () => {
    /** Statement by statement: of each row id, token, fraction, note. */
    const sent: unknown[][][] = [];
    const answer: { error?: Error | undefined } = {};
    const query = async (_text: string, values: unknown[] = []) => {
      const [ids = [], ...others] = values as unknown[][];
      sent.push(ids.map((id, row) => [id, ...others.map((column) => column[row])]));
      const { error } = answer;
      delete answer.error;
      if (error) throw error;
      return { rows: [{ id: claim.id }], rowCount: 1 };
    };
    return { db: { query } as unknown as Db, sent, answer };
  };
  const soon = () => performance.now() + 1_000;
  const later = () => performance.now() + 20_000;

  test('the latest counts, and at most one statement a second', async () => {
    const board = new ProgressBoard(new Bell());
    const { db, sent } = recording();
    expect(board.restMs(performance.now())).toBe(Infinity);
    const job = board.of(claim);
    job.say(0.1, 'a');
    job.say(0.2);
    expect(board.restMs(performance.now())).toBe(0);
    await board.write(db);
    expect(sent).toEqual([[[claim.id, claim.token, 0.2, null]]]);
    expect(board.restMs(performance.now())).toBe(Infinity);
    job.say(0.3);
    await board.write(db);
    expect(sent).toHaveLength(1);
    expect(board.restMs(performance.now())).toBeGreaterThan(0);
    await board.write(db, soon());
    expect(sent).toHaveLength(2);
  });

  test('what may be written at once wakes the broker, what has to wait does not', async () => {
    let rings = 0;
    const board = new ProgressBoard({ ring: () => rings++ } as unknown as Bell);
    const job = board.of(claim);
    for (let n = 0; n < 10; n++) job.say(n / 10);
    expect(rings).toBe(1);
    await board.write(recording().db);
    job.say(1);
    expect(rings).toBe(1);
  });

  test('after the end of its attempt a job says nothing', async () => {
    const board = new ProgressBoard(new Bell());
    const { db, sent } = recording();
    const [unwritten, written] = [board.of({ ...claim, id: 'unwritten' }), board.of(claim)];
    written.say(0.1);
    await board.write(db);
    unwritten.say(0.1);
    for (const job of [unwritten, written]) {
      job.end();
      job.say(0.2);
    }
    expect(board.restMs(later())).toBe(Infinity);
    await board.write(db, later());
    expect(sent).toHaveLength(1);
  });

  test('a lost connection loses no progress: it is written later, as it is then', async () => {
    const board = new ProgressBoard(new Bell());
    const { db, sent, answer } = recording();
    const [stays, ends] = [board.of(claim), board.of({ ...claim, id: 'ends' })];
    stays.say(0.1);
    ends.say(0.1);
    answer.error = new Error('connection terminated');
    const writing = board.write(db);
    stays.say(0.2);
    ends.end();
    await expect(writing).rejects.toThrow('connection terminated');
    await board.write(db, soon());
    expect(sent).toHaveLength(1);
    await board.write(db, later());
    expect(sent.slice(1)).toEqual([[[claim.id, claim.token, 0.2, null]]]);
  });

  test('what the database refuses is not sent again', async () => {
    const board = new ProgressBoard(new Bell());
    const { db, answer } = recording();
    board.of(claim).say(0.1);
    answer.error = Object.assign(new pg.DatabaseError('no such table', 1, 'error'), {
      code: '42P01',
      severity: 'ERROR',
    });
    await expect(board.write(db)).rejects.toThrow('no such table');
    expect(board.restMs(later())).toBe(Infinity);
  });

  test.for<[string, unknown[], RegExp]>([
    ['more than all', [1.01], /from 0 to 1, not 1.01/],
    ['less than nothing', [-0.01], /not -0.01/],
    ['a percentage', [50], /not 50/],
    ['no number', [Number.NaN], /not NaN/],
    ['text', ['0.5'], /not 0.5/],
    ['nothing', [], /not undefined/],
    ['a note that is no text', [0.5, { step: 1 }], /note as text or not at all, not object/],
  ])('refuses %s', ([, values, message]) => {
    const job = new ProgressBoard(new Bell()).of(claim);
    expect(() => job.say(...(values as [number, string]))).toThrow(message);
    expect(() => job.say(...(values as [number, string]))).toThrow(RangeError);
  });

  test.for<[string, string, string]>([
    ['of 500 characters', 'x'.repeat(500), 'x'.repeat(500)],
    ['of 501', 'x'.repeat(501), `${'x'.repeat(499)}…`],
    ['of 500 characters outside the first plane', '😀'.repeat(500), '😀'.repeat(500)],
    ['of 501 of them', '😀'.repeat(501), `${'😀'.repeat(499)}…`],
    ['of ten million', 'y'.repeat(10_000_000), `${'y'.repeat(499)}…`],
    ['with NUL and half a pair', 'a\0b\ud800c', 'a\uFFFDb\uFFFDc'],
    ['that is empty', '', ''],
  ])('a note %s is kept as the database can hold it', async ([, note, kept], { db }) => {
    const running = await processingJob(db);
    const board = new ProgressBoard(new Bell());
    board.of(running).say(0.5, note);
    await board.write(db);
    expect(await rowOf(db, running.id)).toMatchObject({ progress: 0.5, progress_note: kept });
  });
});
