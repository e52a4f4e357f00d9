import type { QueryResultRow } from 'pg';
import * as z from 'zod';
import { defineJob } from '../../functions/queue/contract.ts';
import type { Db } from '../../functions/queue/db.ts';
import { insertJob } from '../../functions/queue/enqueue.ts';
import type { Connection } from '../../functions/queue/steady-connection.ts';
import { takeWakes } from '../../functions/queue/take-wakes.ts';
import { runOn } from '../lifecycle/ground.ts';
import { test as base, describe, expect, openClient, vi } from '../support/fixtures.ts';
import { everyOrder, type Join, type Party, type Scene } from './orders.ts';

// Some hundreds of runs from start to end.
vi.setConfig({ testTimeout: 120_000 });

const WORKER = 'work';
const kind = 'test.kind';
const contracts = { [kind]: defineJob({ payload: z.looseObject({}), timeoutSeconds: 5 }) };
const processors = { [kind]: async () => null };

/** `play`: lets these do what they do in every order, and expects each job to have run at the end of each. */
const test = base
  .extend('clients', async ({ databaseUrl }, { onCleanup }) => {
    const clients = await Promise.all(Array.from({ length: 9 }, () => openClient(databaseUrl)));
    onCleanup(async () => {
      await Promise.all(clients.map((client) => client.end()));
    });
    return clients;
  })
  .extend('play', async ({ clients: [observer, ...others] }) => {
    const clear = `
      DELETE FROM millrace.slots;
      DELETE FROM millrace.wakes;
      DELETE FROM millrace.live_jobs;
      DELETE FROM millrace.finished_jobs;
      DELETE FROM millrace.claim_marks;`;
    return (
      parties: (join: Join) => Party[],
      { lead = [], before = '', atOnce }: Partial<Pick<Scene, 'lead' | 'atOnce'>> & { before?: string } = {},
    ) =>
      everyOrder(others, observer as Db, async (join) => {
        await observer?.query(clear + before);
        return { parties: parties(join), lead, atOnce, matters: MATTERS, seen, state, end: allHaveRun };
      });
  });

/** By these others can tell who was first. */
const MATTERS = /\bmillrace\.(see_start|slots|wakes|take_wakes|claim\(|enqueue)/;

/**
 * A claim right after a statement of its run about slots. What jobs are put in or claimed between the two might as well be before the
 * first, which looks at no jobs; and who looks at slots, after the claim, which does not.
 */
const claimAtOnce = (sent: string, next: string) => next.includes('millrace.claim(') && sent.includes('millrace.slots');

function seen(text: string, rows: QueryResultRow[]): unknown {
  if (text.includes('see_start')) return rows.map(({ present, age_seconds, due }) => [present, age_seconds >= 30, due]);
  if (text.includes('take_wakes')) return rows;
  return rows.filter(({ id }) => id !== null).length;
}

async function state(db: Db): Promise<string> {
  const { rows } = await db.query<{ state: string }>(`
    SELECT concat_ws(' ',
      (SELECT string_agg(concat_ws(' ', s.token, s.present_until > clock_timestamp(),
                                   s.started_at <= clock_timestamp() - interval '30 seconds'), ',')
       FROM millrace.slots s),
      (SELECT string_agg(concat_ws(' ', w.woken_at > clock_timestamp() - interval '2 seconds',
                                   w.woken_at > (SELECT max(s.present_until) FROM millrace.slots s)), ',')
       FROM millrace.wakes w),
      (SELECT string_agg(j.status || j.locked_by, ',' ORDER BY j.id) FROM millrace.live_jobs j),
      (SELECT count(*) FROM millrace.finished_jobs)) AS state`);
  return rows[0]?.state as string;
}

async function allHaveRun(db: Db): Promise<void> {
  expect((await db.query('SELECT id, status, locked_by FROM millrace.live_jobs')).rows).toEqual([]);
}

/** A run that leaves as soon as it finds nothing: whatever a longer one would still have seen does not hide what is lost. */
const worker = (name: string, woken = false): Party => ({
  name,
  act: async (db, signal) => {
    const connection = { query: db.query.bind(db), end: async () => {}, on: () => {} } as Connection;
    await runOn('', {
      contracts,
      processors,
      connect: async () => connection,
      slot: { worker: WORKER, slot: 0, woken },
      transactions: 0,
      signal,
      lingerSeconds: 0,
    });
  },
});

/** The same run, its presence cleared in the end. */
const lateClearing = ({ name, act }: Party): Party => ({
  name,
  act: async (db, signal) => {
    const cleared: [text: string, values: unknown[]][] = [];
    const query: Db['query'] = async (text, values = []) => {
      if (!text.includes('present_until = least(')) return db.query(text, values);
      cleared.push([text, values]);
      return { rows: [], rowCount: 0 };
    };
    await act({ query }, signal);
    for (const [text, values] of cleared) await db.query(text, values);
  },
});

/** Puts a job in, and starts whom it is told to: they get to their first statement whenever they do. */
const producer = (name: string, join: Join): Party => ({
  name,
  act: async (db) => {
    await insertJob(db, { kind, payload: {} });
    for (const woken of await takeWakes(db, [WORKER])) join(worker(`${woken} woken by ${name}`, true));
  },
});

/** What has a time in the tables is made older. */
const timePasses = (seconds: number): Party => ({
  name: `${seconds} s`,
  act: async (db) => {
    await db.query(
      `WITH aged AS (
         UPDATE millrace.slots
         SET started_at = started_at - make_interval(secs => $1), present_until = present_until - make_interval(secs => $1)
       )
       UPDATE millrace.wakes SET woken_at = woken_at - make_interval(secs => $1)`,
      [seconds],
    );
  },
});

describe('in every order of statements each job is claimed, or has woken somebody who claims it', () => {
  test('a run comes and goes, a job is put in', async ({ play }) => {
    const { orders } = await play((join) => [worker('tick'), producer('a', join)]);
    // Of the producer's two statements and the run's seven: 36, had none of them an effect.
    expect(orders).toBeGreaterThan(30);
  });

  test('would the run clear its presence after its last claim, there would be one left', async ({ play }) => {
    await expect(play((join) => [lateClearing(worker('tick', true)), producer('a', join)])).rejects.toThrow(
      /^after .*a: /,
    );
  });

  test('a run was woken and is on its way, the one in its place leaves', async ({ play }) => {
    const { orders } = await play((join) => [worker('first', true), worker('woken', true), producer('b', join)], {
      before: `INSERT INTO millrace.wakes VALUES ('${WORKER}', clock_timestamp());`,
      lead: ['first', 'first'],
      atOnce: claimAtOnce,
    });
    expect(orders).toBeGreaterThan(50);
  });

  test('a run is woken, comes and goes, and another job is put in', async ({ play }) => {
    const { orders } = await play((join) => [producer('a', join), producer('b', join)], { lead: ['a', 'a'] });
    expect(orders).toBeGreaterThan(30);
  });

  test('a run is relieved by the one of the next tick', async ({ play }) => {
    const parties = (join: Join) => [worker('first', true), timePasses(30), producer('a', join), worker('next')];
    const { orders } = await play(parties, { lead: ['first', 'first', '30 s'], atOnce: claimAtOnce });
    expect(orders).toBeGreaterThan(100);
  });

  test('a run is frozen until nobody believes in it any more', async ({ play }) => {
    const parties = (join: Join) => [worker('tick', true), producer('a', join), timePasses(10)];
    const { orders } = await play(parties, { lead: ['tick', 'tick'], atOnce: claimAtOnce });
    expect(orders).toBeGreaterThan(40);
  });
});
