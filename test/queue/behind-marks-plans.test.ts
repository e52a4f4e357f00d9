import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { claimSuspect } from '../../functions/queue/claim-suspect.ts';
import type { Db } from '../../functions/queue/db.ts';
import { firstLease } from '../../functions/queue/first-lease.ts';
import { LookBehind } from '../../functions/queue/look-behind.ts';
import { reap } from '../../functions/queue/reap.ts';
import { releaseTokens } from '../../functions/queue/release-tokens.ts';
import { LeaseMark } from '../../functions/reap/lease-mark.ts';
import { takeBack } from '../../functions/reap/take-back.ts';
import { silent } from '../lifecycle/ground.ts';
import { openClient } from '../support/database.ts';
import { pendingJob, processingJob } from '../support/factories.ts';
import { test as base, expect } from '../support/fixtures.ts';
import { KINDS } from './claiming.ts';
import { costOf } from './pages.ts';

/** So many that to look at each of them is told from anything else. */
const MANY = 3000;
const FEW = 50;

/** A connection on which costs are counted, while another one's transaction keeps all dead rows in the way. */
const test = base.extend('counted', async ({ databaseUrl, db }, { onCleanup }) => {
  const [pin, client] = [await openClient(databaseUrl), await openClient(databaseUrl)];
  onCleanup(async () => {
    await Promise.all([pin.end(), client.end()]);
  });
  await db.query('TRUNCATE millrace.live_jobs, millrace.payloads');
  await pin.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await pin.query('SELECT FROM millrace.live_jobs');
  return client;
});

/** Jobs that were there and have gone: `live` is how they were. */
async function gone(db: Db, columns: string, live: string): Promise<void> {
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, ${columns})
     SELECT millrace.uuidv7(), 'test.kind', ${live} FROM generate_series(1, ${MANY}) n`,
  );
  await db.query('DELETE FROM millrace.live_jobs');
}

/** Entries of indexes: those of dead rows lie side by side here, so that many of them are few pages. */
async function entriesOf(client: pg.Client, verb: (db: Db) => Promise<unknown>): Promise<number> {
  return (await costOf(client, 'force_custom_plan', verb)).entries;
}

test('a tick of the reaper passes what ended before the last one only in its first look', async ({ db, counted }) => {
  const lease = `'processing', 1, gen_random_uuid(), clock_timestamp() - interval '1 hour' + n * interval '1 ms'`;
  await gone(db, 'status, attempts, locked_by, locked_until', lease);
  expect(await entriesOf(counted, (on) => firstLease(on))).toBeGreaterThanOrEqual(MANY);
  const after = await firstLease(db);
  await processingJob(db, { leaseExpiredSecondsAgo: 1 });
  expect(await entriesOf(counted, (on) => firstLease(on, after))).toBeLessThan(FEW);
  expect(await entriesOf(counted, (on) => reap(on, { limit: 10, after }))).toBeLessThan(FEW);
});

test('a reaper’s first tick walks what ended before in slices, each entry once, and its second none of it', async ({
  db,
  counted,
}) => {
  const lease = `'processing', 1, gen_random_uuid(), clock_timestamp() - interval '1 hour' + n * interval '1 ms'`;
  await gone(db, 'status, attempts, locked_by, locked_until', lease);
  const mark = new LeaseMark();
  const ticked = (on: Db) =>
    takeBack(
      { db: on, log: silent, contracts: async () => ({}), mark, timeLeft: () => true },
      { reaped: 0, buried: 0, blocked: 0 },
    );
  const first = await entriesOf(counted, ticked);
  expect(first).toBeGreaterThanOrEqual(MANY);
  expect(first).toBeLessThan(1.1 * MANY);
  expect(await entriesOf(counted, ticked)).toBeLessThan(FEW);
});

test('a batch of the reaper does not pass those before it', async ({ db, counted }) => {
  for (let ago = 30; ago > 0; ago--) await processingJob(db, { leaseExpiredSecondsAgo: ago });
  const lease = `'processing', 1, gen_random_uuid(), clock_timestamp() - interval '1 hour' + n * interval '1 ms'`;
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until)
     SELECT millrace.uuidv7(), 'test.kind', ${lease} FROM generate_series(1, ${MANY}) n`,
  );
  const first = await reap(db, { limit: MANY });
  const after = first.at(-1)?.leaseUntil;
  expect(await entriesOf(counted, (on) => reap(on, { limit: 1 }))).toBeGreaterThanOrEqual(MANY);
  expect(await entriesOf(counted, (on) => reap(on, { limit: 1, after }))).toBeLessThan(FEW);
});

test('a lost claim is looked for among recent ones, not among all that runs', async ({ db, counted }) => {
  const token = randomUUID();
  await processingJob(db, { token, leaseSeconds: 29 });
  await db.query(
    `INSERT INTO millrace.live_jobs (id, kind, status, attempts, locked_by, locked_until)
     SELECT millrace.uuidv7(), 'long.kind', 'processing', 1, gen_random_uuid(), clock_timestamp() + interval '1 hour' - n * interval '1 s'
     FROM generate_series(61, 60 + ${MANY}) n`,
  );
  const kinds = new Map([...KINDS, ['long.kind', 3600]]);
  expect(await entriesOf(counted, (on) => releaseTokens(on, [token]))).toBeGreaterThanOrEqual(MANY);
  await processingJob(db, { token, leaseSeconds: 29 });
  expect(await entriesOf(counted, (on) => releaseTokens(on, [token], { kinds, seconds: 0 }))).toBeLessThan(FEW);
});

test('suspects that have gone cost nothing to who knows from where on there may be some', async ({ db, counted }) => {
  await gone(db, 'attempts, reaps, run_at', `2, 2, clock_timestamp() - interval '1 hour'`);
  await pendingJob(db, { attempts: 2, reaps: 2 });
  const request = { queue: 'default', kinds: KINDS };
  const { rows } = await db.query<{ from: string }>(`SELECT (now() - interval '1 minute')::text AS from`);
  const from = rows[0]?.from as string;
  const claimed = (on: Db) => claimSuspect(on, { ...request, token: randomUUID(), from });
  expect(await entriesOf(counted, claimed)).toBeLessThan(FEW);
  expect(
    await entriesOf(counted, (on) => claimSuspect(on, { ...request, token: randomUUID() })),
  ).toBeGreaterThanOrEqual(MANY);
});

test('a slice of a look behind the marks walks what is in it, and all of them walk each entry once', async ({
  db,
  counted,
}) => {
  await gone(db, 'run_at', `clock_timestamp() - interval '1 hour' + n * interval '1 ms'`);
  const { rows } = await db.query<{ at: string }>(
    `SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`,
  );
  const until = Array(11).fill(rows[0]?.at);
  const rescannedAt = rows[0]?.at as string;
  const look = new LookBehind({ queue: 'default', kinds: KINDS, until, rescannedAt });
  expect(await entriesOf(counted, (on) => look.next(on))).toBeLessThan(FEW);
  let rest = 0;
  while (!look.done) rest += await entriesOf(counted, (on) => look.next(on));
  expect(rest).toBeGreaterThanOrEqual(MANY);
  expect(rest).toBeLessThan(1.1 * MANY);
});
