import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cancel } from '../../functions/queue/cancel.ts';
import { complete } from '../../functions/queue/complete.ts';
import { type Look, look } from '../../functions/queue/look.ts';
import { Waiters } from '../../functions/queue/waiters.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, openClient, test } from '../support/fixtures.ts';

const NOBODY = '0195c9f0-0000-7000-8000-000000000000';
const never = new AbortController().signal;
const nothing: Look = { ended: [], ahead: 0 };

/** Looks that a test answers itself, one after the other. */
function looks() {
  const open: { ids: string[]; answer: (with_: Look) => void; fail: (error: unknown) => void }[] = [];
  let came = () => {};
  const waiters = new Waiters(
    (ids) =>
      new Promise<Look>((answer, fail) => {
        open.push({ ids, answer, fail });
        came();
      }),
  );
  return {
    waiters,
    open,
    next: async () => {
      if (open.length === 0) await new Promise<void>((resolve) => (came = resolve));
      return open.shift() as (typeof open)[number];
    },
  };
}

describe('waiters', () => {
  test('leave when their job ends or is gone, and not before', async ({ db }) => {
    const [slow, quick, removed] = [await processingJob(db), await processingJob(db), await pendingJob(db)];
    const waiters = new Waiters((ids) => look(db, ids));
    const left: string[] = [];
    const wait = async (name: string, id: string) => {
      expect(await waiters.wait(id, 20_000, never)).toBe('ended');
      left.push(name);
    };
    const all = [wait('slow', slow.id), wait('quick', quick.id), wait('removed', removed.id)];
    await complete(db, [{ ...quick, result: null }]);
    await all[1];
    expect(left).toEqual(['quick']);
    await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [removed.id]);
    await all[2];
    await complete(db, [{ ...slow, result: null }]);
    await all[0];
    expect(left).toEqual(['quick', 'removed', 'slow']);
  });

  test('make four statements a second, however many they are', async ({ db }) => {
    const jobs = await Promise.all(Array.from({ length: 50 }, () => pendingJob(db)));
    let statements = 0;
    const counting: Parameters<typeof look>[0] = {
      query: (text, values) => {
        statements++;
        return db.query(text, values);
      },
    };
    const waiters = new Waiters((ids) => look(counting, ids));
    const began = Date.now();
    const waiting = [...jobs, ...jobs].map(({ id }, at) => waiters.wait(id, 1000 + at, never));
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['time is up']));
    expect(statements).toBeGreaterThan(1);
    expect(statements).toBeLessThanOrEqual(1 + (Date.now() - began) / 250);
  });

  test('are a hundred at most; who comes then is told so at once', async () => {
    const { waiters, next } = looks();
    const waiting = Array.from({ length: 100 }, () => waiters.wait('a', 20_000, never));
    expect(await waiters.wait('b', 20_000, never)).toBe('crowded');
    const { ids, answer } = await next();
    expect(ids).toEqual(['a']);
    answer({ ended: ['a'], ahead: 0 });
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['ended']));
    const later = waiters.wait('b', 20_000, never);
    (await next()).answer({ ended: ['b'], ahead: 0 });
    expect(await later).toBe('ended');
  });

  test('all leave when twenty connections wait before theirs, but those whose job has just ended', async () => {
    const { waiters, next } = looks();
    const waiting = ['a', 'b'].map((id) => waiters.wait(id, 20_000, never));
    (await next()).answer({ ended: ['b'], ahead: 19 });
    expect(await waiting[1]).toBe('ended');
    const more = waiters.wait('c', 20_000, never);
    (await next()).answer({ ended: ['c'], ahead: 20 });
    expect(await Promise.all([waiting[0], more])).toEqual(['crowded', 'ended']);
  });

  test('leave when their time is up though a look hangs, and no other look is made meanwhile', async () => {
    const { waiters, open, next } = looks();
    const long = waiters.wait('a', 20_000, never);
    const hanging = await next();
    expect(await waiters.wait('b', 600, never)).toBe('time is up');
    expect(open).toEqual([]);
    hanging.answer({ ended: ['a'], ahead: 0 });
    expect(await long).toBe('ended');
  });

  test('are told when a look fails; who comes after that is looked for again', async () => {
    const { waiters, next } = looks();
    const waiting = Promise.allSettled([waiters.wait('a', 20_000, never), waiters.wait('b', 20_000, never)]);
    const { fail } = await next();
    const late = waiters.wait('c', 20_000, never);
    fail(new Error('no answer'));
    expect(await waiting).toMatchObject([{ reason: { message: 'no answer' } }, { reason: { message: 'no answer' } }]);
    const { ids, answer } = await next();
    expect(ids).toEqual(['c']);
    answer({ ended: ['c'], ahead: 0 });
    expect(await late).toBe('ended');
  });

  test('are forgotten once their request is given up', async () => {
    const { waiters, next } = looks();
    const request = new AbortController();
    const given = waiters.wait('a', 20_000, request.signal);
    const other = waiters.wait('b', 20_000, never);
    (await next()).answer(nothing);
    request.abort(new Error('given up'));
    await expect(given).rejects.toThrow('given up');
    const { ids, answer } = await next();
    expect(ids).toEqual(['b']);
    answer({ ended: ['b'], ahead: 0 });
    await other;
    await expect(waiters.wait('a', 20_000, request.signal)).rejects.toThrow('given up');
  });

  test('that were frozen until after their time leave without another look', async () => {
    const { waiters, open, next } = looks();
    const waiting = waiters.wait('a', 400, never);
    (await next()).answer(nothing);
    // As a sandbox that is frozen: no code of it runs while the time goes by.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    expect(await waiting).toBe('time is up');
    expect(open).toEqual([]);
  });

  test('leave no timer behind: a process of which nobody waits any more ends', async () => {
    const waiters = fileURLToPath(new URL('../../functions/queue/waiters.ts', import.meta.url));
    const script = `
      import { Waiters } from ${JSON.stringify(waiters)};
      const request = new AbortController();
      const waiters = new Waiters(async () => {
        queueMicrotask(() => request.abort());
        return { ended: [], ahead: 0 };
      });
      await waiters.wait('a', 60_000, request.signal).catch(() => {});`;
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { timeout: 20_000 });
  });
});

describe('a look', () => {
  test('names those that are neither pending nor processing', async ({ db }) => {
    const live = [await pendingJob(db), await processingJob(db)];
    const ended = [await finishedJob(db), await deadJob(db), await pendingJob(db)];
    await cancel(db, ended[2]?.id as string);
    const ids = [...live, ...ended].map(({ id }) => id);
    expect((await look(db, [...ids, NOBODY])).ended).toEqual([...ids.slice(2), NOBODY]);
  });

  test('counts the connections of its name that wait and were there before it, and no others', async ({
    directUrl,
  }) => {
    const url = (name: string) => `${directUrl}?application_name=${name}`;
    const open = async (name: string) => openClient(url(name));
    const clients = [await open('waits'), await open('waits'), await open('other'), await open('waits')];
    const ahead = async () => {
      const each: number[] = [];
      for (const client of clients) each.push((await look(client, [NOBODY])).ahead);
      return each;
    };
    expect(await ahead()).toEqual([0, 1, 0, 2]);
    await clients[0]?.query('SELECT 1');
    expect((await look(clients[3] as (typeof clients)[0], [NOBODY])).ahead).toBe(1);
    await Promise.all(clients.map((client) => client.end()));
  });
});
