import { claimSuspect } from '../../functions/queue/claim-suspect.ts';
import { openPosition, publish } from '../../functions/queue/marks.ts';
import { pause, resume } from '../../functions/queue/pause.ts';
import { pendingJob, processingJob, statusOf } from '../support/factories.ts';
import { expect, test } from '../support/fixtures.ts';
import { claimedIds, claimSome, KINDS } from './claiming.ts';
import { logged, operator, sessionUser } from './operator-log.ts';

const BOTH = new Map([...KINDS, ['other.kind', 30]]);

test('a paused kind is not claimed from the next claim on, the others are', async ({ db }) => {
  await pendingJob(db);
  const other = await pendingJob(db, { kind: 'other.kind' });
  expect(await pause(db, 'kind', 'test.kind')).toBe(true);
  expect(await claimedIds(db, { kinds: BOTH, aged: 1 })).toEqual([other.id]);
});

test('a paused queue is not claimed from, the other queues are', async ({ db }) => {
  await pendingJob(db);
  const other = await pendingJob(db, { queue: 'other' });
  await pause(db, 'queue', 'default');
  expect(await claimedIds(db, { aged: 1 })).toEqual([]);
  expect(await claimedIds(db, { queue: 'other' })).toEqual([other.id]);
});

test('a queue and a kind of the same name are two things', async ({ db }) => {
  const job = await pendingJob(db);
  await pause(db, 'queue', 'test.kind');
  await pause(db, 'kind', 'default');
  expect(await claimedIds(db)).toEqual([job.id]);
});

test('suspects of what is paused wait as well', async ({ db }) => {
  const suspect = await pendingJob(db, { reaps: 2, attempts: 2 });
  const request = { token: '00000000-0000-4000-8000-000000000001', queue: 'default', kinds: KINDS };
  for (const [scope, name] of [
    ['kind', 'test.kind'],
    ['queue', 'default'],
  ] as const) {
    await pause(db, scope, name);
    expect(await claimSome(db)).toMatchObject({ suspectDue: false });
    expect(await claimSuspect(db, request)).toBeUndefined();
    await resume(db, scope, name);
  }
  expect(await claimSuspect(db, request)).toMatchObject({ id: suspect.id });
});

test('jobs that run when their kind is paused go on', async ({ db }) => {
  const job = await processingJob(db);
  await pause(db, 'kind', 'test.kind');
  expect(await statusOf(db, job.id)).toBe('processing');
});

test('a resume that commits late is looked back for, also by a claim that follows another at once', async ({ db }) => {
  await pause(db, 'kind', 'test.kind');
  const job = await pendingJob(db, { dueInSeconds: -3600 });
  const { position } = await claimSome(db, { position: await openPosition(db, 'default', KINDS) });
  // By its clock it was before the rescan that the position rests on.
  await db.query(`UPDATE millrace.pauses SET resumed_at = $1::timestamptz - interval '300 ms'`, [position.rescannedAt]);
  expect(await claimedIds(db, { position: { ...position, resumedAt: null }, soon: true })).toEqual([job.id]);
});

test('after a resume the next claim of every worker finds what waited, however far its marks had gone', async ({
  db,
}) => {
  await pause(db, 'kind', 'test.kind');
  const waiting = [];
  for (let n = 0; n < 4; n++) waiting.push((await pendingJob(db, { dueInSeconds: -3600 + n })).id);
  const { position: here } = await claimSome(db, { kinds: BOTH });
  const { position: there } = await claimSome(db, { kinds: BOTH });
  await publish(db, 'default', BOTH, there);
  expect(await claimedIds(db, { kinds: BOTH, position: here })).toEqual([]);

  await resume(db, 'kind', 'test.kind');
  expect(await claimedIds(db, { kinds: BOTH, position: here, limit: 1 })).toEqual([waiting[0]]);
  const seen = await claimSome(db, { kinds: BOTH, position: there, limit: 1 });
  expect(seen.jobs.map((job) => job.id)).toEqual([waiting[1]]);
  // Where it has looked back it goes on, and does not look back again: a row from before is not seen.
  const hidden = await pendingJob(db, { dueInSeconds: -7200 });
  expect(await claimedIds(db, { kinds: BOTH, position: seen.position, limit: 1 })).toEqual([waiting[2]]);
  await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [hidden.id]);
  // A run that begins now, from the marks that were published during the pause:
  const opened = await openPosition(db, 'default', BOTH);
  expect(opened.marks).toEqual(there.marks);
  expect(await claimedIds(db, { kinds: BOTH, position: opened })).toEqual([waiting[3]]);
});

test('a resume of other kinds and queues makes nobody look back', async ({ db }) => {
  const { position } = await claimSome(db);
  await pendingJob(db, { dueInSeconds: -3600 });
  for (const [scope, name] of [
    ['kind', 'other.kind'],
    ['queue', 'other'],
  ] as const) {
    await pause(db, scope, name);
    await resume(db, scope, name);
  }
  expect(await claimedIds(db, { position })).toEqual([]);
});

test('claims of a paused queue move no marks', async ({ db }) => {
  const position = await openPosition(db, 'default', KINDS);
  await pause(db, 'queue', 'default');
  expect((await claimSome(db, { position })).position).toMatchObject({
    ...position,
    near: position.marks,
    suspectMark: expect.any(String),
  });
});

test('pausing what is paused and resuming what is not changes nothing and says so', async ({ db }) => {
  expect(await resume(db, 'kind', 'test.kind')).toBe(false);
  expect(await pause(db, 'kind', 'test.kind')).toBe(true);
  const { rows: before } = await db.query('SELECT * FROM millrace.pauses');
  expect(await pause(db, 'kind', 'test.kind')).toBe(false);
  expect((await db.query('SELECT * FROM millrace.pauses')).rows).toEqual(before);
  expect(await resume(db, 'kind', 'test.kind')).toBe(true);
  expect(await resume(db, 'kind', 'test.kind')).toBe(false);
  expect(await pause(db, 'kind', 'test.kind')).toBe(true);
});

test('the log says who paused and resumed what, once for each change', async ({ db }) => {
  const by = operator();
  for (const change of [pause, pause, resume, resume]) await change(db, 'queue', 'mail', operator(by.requestId));
  await pause(db, 'kind', 'a.kind');
  const entry = { actor: 'ada', target: { queue: 'mail' }, count: 1, requestId: by.requestId };
  expect(await logged(db)).toEqual([
    { ...entry, action: 'pause' },
    { ...entry, action: 'resume' },
    { actor: await sessionUser(db), action: 'pause', target: { kind: 'a.kind' }, count: 1, requestId: null },
  ]);
});

test('a resend is answered as the first time and undoes nothing that came between', async ({ db }) => {
  const [paused, resumed] = [operator(), operator()];
  const isPaused = async () => (await db.query('SELECT FROM millrace.pauses WHERE resumed_at IS NULL')).rowCount === 1;
  expect(await pause(db, 'kind', 'a.kind', paused)).toBe(true);
  expect(await resume(db, 'kind', 'a.kind', resumed)).toBe(true);
  expect(await pause(db, 'kind', 'a.kind', paused)).toBe(true);
  expect(await isPaused()).toBe(false);
  expect(await pause(db, 'kind', 'a.kind', operator())).toBe(true);
  expect(await resume(db, 'kind', 'a.kind', resumed)).toBe(true);
  expect(await isPaused()).toBe(true);
  expect(await pause(db, 'kind', 'a.kind', operator())).toBe(false);
});

test('one request id for all that a script does: each change is made, and a resend of the last is still none', async ({
  db,
}) => {
  const by = operator();
  for (const change of [pause, resume, pause]) expect(await change(db, 'queue', 'mail', by)).toBe(true);
  await pendingJob(db, { queue: 'mail' });
  expect(await claimedIds(db, { queue: 'mail' })).toEqual([]);
  expect(await pause(db, 'queue', 'mail', by)).toBe(true);
  expect((await logged(db)).map(({ action }) => action)).toEqual(['pause', 'resume', 'pause']);
});
