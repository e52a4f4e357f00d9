import { randomUUID } from 'node:crypto';
import { bury } from '../../functions/queue/bury.ts';
import { complete } from '../../functions/queue/complete.ts';
import { release } from '../../functions/queue/release.ts';
import { retry } from '../../functions/queue/retry.ts';
import { counterOf, liveRowOf, processingJob, rowOf, statusOf } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { inTurn } from './sessions.ts';

const error = { attempt: 1, name: 'Error', message: 'boom' };

test('a completed job is finished, with its result and all that was known of it', async ({ db }) => {
  const origin = { requestId: 'request-7', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const past = { attempts: 2, reaps: 1, errors: [error] };
  const fields = { subject: 'invoice:7', priority: 3, payload: { n: 1 }, ...past, ...origin };
  const job = await processingJob(db, { ...fields, maxAttempts: 4, queue: 'mail' });
  const before = await rowOf(db, job.id);
  expect(await complete(db, [{ ...job, result: { text: 'ä"\\' } }])).toEqual([job.id]);
  const ended = { status: 'completed', result: { text: 'ä"\\' }, locked_until: null, finished_at: expect.any(Date) };
  expect(await rowOf(db, job.id)).toEqual({ ...before, ...ended });
  expect(before?.request_id).toBe('request-7');
  expect(await liveRowOf(db, job.id)).toBeUndefined();
  expect(await counterOf(db, 'test.kind', 'completed')).toBe(1);
});

test('no result, and one that has no JSON, are kept as null', async ({ db }) => {
  const [nothing, symbol] = [await processingJob(db), await processingJob(db)];
  await complete(db, [
    { ...nothing, result: undefined },
    { ...symbol, result: Symbol('x') },
  ]);
  expect([(await rowOf(db, nothing.id))?.result, (await rowOf(db, symbol.id))?.result]).toEqual([null, null]);
});

test('a batch of many kinds is counted in one row for each kind', async ({ db }) => {
  const jobs = [];
  for (let n = 0; n < 9; n++) jobs.push(await processingJob(db, { kind: `kind.${n % 3}` }));
  await db.query('DELETE FROM millrace.counter_deltas');
  await complete(
    db,
    jobs.map((job) => ({ ...job, result: 1 })),
  );
  const { rows } = await db.query('SELECT kind, event, n::int FROM millrace.counter_deltas ORDER BY kind');
  expect(rows).toEqual(['kind.0', 'kind.1', 'kind.2'].map((kind) => ({ kind, event: 'completed', n: 3 })));
});

test('an empty batch asks nothing of the database', async () => {
  const db = { query: () => Promise.reject(new Error('asked')) };
  expect(await complete(db, [])).toEqual([]);
  expect(await retry(db, [])).toEqual([]);
  expect(await release(db, [])).toEqual([]);
  expect(await bury(db, [])).toEqual([]);
});

test('a completion wins over a cancel request', async ({ db }) => {
  const job = await processingJob(db, { cancelRequested: true });
  expect(await complete(db, [{ ...job, result: 1 }])).toEqual([job.id]);
  expect(await rowOf(db, job.id)).toMatchObject({ status: 'completed', cancel_requested_at: expect.any(Date) });
});

test('a late settle that nobody overtook is accepted', async ({ db }) => {
  const job = await processingJob(db, { leaseExpiredSecondsAgo: 3600 });
  expect(await complete(db, [{ ...job, result: 1 }])).toEqual([job.id]);
});

/** Each verb as a settle of claims, answering the ids it accepted. */
const VERBS = [
  [
    'complete',
    (db, claims) =>
      complete(
        db,
        claims.map((claim) => ({ ...claim, result: 1 })),
      ),
  ],
  [
    'retry',
    async (db, claims) =>
      ids(
        await retry(
          db,
          claims.map((claim) => ({ ...claim, error, delaySeconds: 1 })),
        ),
      ),
  ],
  [
    'bury',
    (db, claims) =>
      bury(
        db,
        claims.map((claim) => ({ ...claim, error })),
      ),
  ],
  [
    'release',
    async (db, claims) =>
      ids(
        await release(
          db,
          claims.map((claim) => ({ ...claim, delaySeconds: 1 })),
        ),
      ),
  ],
] as const satisfies [string, (db: Queryable, claims: { id: string; token: string }[]) => Promise<string[]>][];

type Queryable = Parameters<typeof complete>[0];
const ids = (returned: { id: string }[]) => returned.map((job) => job.id);

describe.for(VERBS)('the fence of %s', ([, settle]) => {
  test("a stale claim in one batch with another job's token changes nothing", async ({ db }) => {
    const stale = await processingJob(db);
    const other = await processingJob(db);
    const foreign = { id: stale.id, token: randomUUID() };
    const crossed = { id: stale.id, token: other.token };
    expect(await settle(db, [foreign, other, crossed])).toEqual([other.id]);
    expect(await rowOf(db, stale.id)).toMatchObject({ status: 'processing', locked_by: stale.token, errors: [] });
    expect(await statusOf(db, other.id)).not.toBe('processing');
  });

  test('a job that is not there, or that nobody claimed, is missing from the answer', async ({ db }) => {
    const nowhere = { id: randomUUID(), token: randomUUID() };
    expect(await settle(db, [nowhere])).toEqual([]);
  });

  test('a repeated settle with the same token is accepted again and changes nothing more', async ({ db }) => {
    const [first, second] = [await processingJob(db), await processingJob(db)];
    expect((await settle(db, [first, second])).sort()).toEqual([first.id, second.id].sort());
    const { rows: before } = await db.query('SELECT * FROM millrace.jobs ORDER BY id');
    const third = await processingJob(db);
    expect((await settle(db, [first, third, second])).sort()).toEqual([first.id, second.id, third.id].sort());
    const { rows: after } = await db.query('SELECT * FROM millrace.jobs WHERE id <> $1 ORDER BY id', [third.id]);
    expect(after).toEqual(before);
    const { rows: deltas } = await db.query(
      `SELECT sum(n)::int AS n FROM millrace.counter_deltas WHERE event <> 'enqueued'`,
    );
    expect(deltas).toEqual([{ n: 3 }]);
  });

  test('a repeat that comes while the first still runs is accepted as well', async ({ db, databaseUrl }) => {
    const jobs = [await processingJob(db), await processingJob(db), await processingJob(db)];
    const [first, repeat] = await inTurn(
      databaseUrl,
      (session) => settle(session, jobs),
      (session) => settle(session, jobs.toReversed()),
    );
    expect(first.sort()).toEqual(ids(jobs).sort());
    expect(repeat.sort()).toEqual(ids(jobs).sort());
  });

  test('a claim that comes twice in one batch counts once', async ({ db }) => {
    const job = await processingJob(db);
    expect(await settle(db, [job, job])).toEqual([job.id]);
    const { rows } = await db.query('SELECT id FROM millrace.jobs');
    expect(rows).toEqual([{ id: job.id }]);
  });

  test('what another verb has settled is not accepted', async ({ db }) => {
    for (const [name, other] of VERBS) {
      const job = await processingJob(db);
      await other(db, [job]);
      const gaveBack = settle === VERBS[1][1] || settle === VERBS[3][1];
      const same = other === settle || (gaveBack && (name === 'retry' || name === 'release'));
      expect([name, await settle(db, [job])]).toEqual([name, same ? [job.id] : []]);
    }
  });
});
