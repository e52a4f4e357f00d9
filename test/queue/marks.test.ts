import { insertJob } from '../../functions/queue/enqueue.ts';
import { type Kinds, openPosition, type Position, publish, rescan } from '../../functions/queue/marks.ts';
import { pendingJob } from '../support/factories.ts';
import { describe, expect, test } from '../support/fixtures.ts';
import { claimedIds, claimSome, KINDS } from './claiming.ts';
import { withSessions } from './sessions.ts';

type Queryable = Parameters<typeof openPosition>[0];

const job = { kind: 'test.kind', payload: {} };
const open = (db: Queryable) => openPosition(db, 'default', KINDS);
const fromTheBeginning = Array(11).fill(null);

/** As if the last rescan of everybody lay that much further back. */
async function ageRescan(db: Queryable, position: Position, seconds: number): Promise<Position> {
  const { rows } = await db.query<{ rescanned_at: string }>(
    `UPDATE millrace.claim_marks SET rescanned_at = rescanned_at - make_interval(secs => $1)
     RETURNING to_char(rescanned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS rescanned_at`,
    [seconds],
  );
  return { ...position, rescannedAt: rows[0]?.rescanned_at as string };
}

const ageRow = (db: Queryable, id: string, seconds: number) =>
  db.query('UPDATE millrace.live_jobs SET run_at = run_at - make_interval(secs => $2) WHERE id = $1', [id, seconds]);

describe('what commits late', () => {
  test.for([
    ['at once', 0],
    ['a second after it became due', 1],
  ] as const)(
    'a job whose transaction commits %s is found at the next claim',
    async ([, late], { db, databaseUrl }) => {
      await withSessions(databaseUrl, async (producer) => {
        await producer.begin();
        const { id } = await insertJob(producer, job);
        const { position } = await claimSome(db);
        await ageRow(producer, id, late);
        await producer.commit();
        expect(await claimedIds(db, { position })).toEqual([id]);
      });
    },
  );

  test('a claim that comes soon after such a one leaves it to the next look back', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (producer) => {
      await producer.begin();
      const { id } = await insertJob(producer, job);
      let { position } = await claimSome(db);
      await ageRow(producer, id, 1);
      await producer.commit();
      ({ position } = await claimSome(db, { position, soon: true }));
      const { id: punctual } = await insertJob(db, job);
      const soon = await claimSome(db, { position, soon: true });
      expect(soon.jobs).toMatchObject([{ id: punctual }]);
      expect(await claimedIds(db, { position: soon.position })).toEqual([id]);
    });
  });

  test('two seconds before the claim that missed it is not too early', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (producer) => {
      await producer.begin();
      const { id } = await insertJob(producer, job);
      const { position } = await claimSome(db);
      await producer.query(`UPDATE millrace.live_jobs SET run_at = $2::timestamptz WHERE id = $1`, [
        id,
        position.marks[5],
      ]);
      await producer.commit();
      expect(await claimedIds(db, { position })).toEqual([id]);
    });
  });

  test('that holds however long the next claim takes to come', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (producer) => {
      await producer.begin();
      const { id } = await insertJob(producer, job);
      const { position } = await claimSome(db);
      await producer.commit();
      // A minute goes by in which all loops of the worker are busy.
      await ageRow(db, id, 60);
      const marks = await Promise.all(position.marks.map((mark) => minus(db, mark, 60)));
      expect(await claimedIds(db, { position: { ...position, marks } })).toEqual([id]);
    });
  });

  test('one that commits later than that is found by the rescan half a minute later', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (producer) => {
      await producer.begin();
      const { id } = await insertJob(producer, job);
      let { position } = await claimSome(db);
      await ageRow(producer, id, 5);
      await producer.commit();

      expect(await claimedIds(db, { position })).toEqual([]);
      position = await ageRescan(db, position, 29);
      expect(await claimSome(db, { position })).toMatchObject({ jobs: [], rescanDue: false });
      position = await ageRescan(db, position, 1);
      expect(await claimSome(db, { position })).toMatchObject({ jobs: [], rescanDue: true });
      expect(await claimedIds(db, { position: await rescan(db, 'default', KINDS, position) })).toEqual([id]);
    });
  });
});

describe('what somebody else held', () => {
  test('a job that another session held is found at the next claim if it is that young', async ({
    db,
    databaseUrl,
  }) => {
    await withSessions(databaseUrl, async (other) => {
      const { id } = await pendingJob(db);
      await other.begin();
      await other.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR UPDATE', [id]);
      const { jobs, position } = await claimSome(db);
      expect(jobs).toEqual([]);
      await other.rollback();
      expect(await claimedIds(db, { position })).toEqual([id]);
    });
  });

  test('an older one is found by the rescan', async ({ db, databaseUrl }) => {
    await withSessions(databaseUrl, async (other) => {
      const { id } = await pendingJob(db, { dueInSeconds: -10 });
      await other.begin();
      await other.query('SELECT FROM millrace.live_jobs WHERE id = $1 FOR UPDATE', [id]);
      const { position } = await claimSome(db);
      await other.rollback();
      expect(await claimedIds(db, { position })).toEqual([]);
      const aged = await ageRescan(db, position, 30);
      expect(await claimedIds(db, { position: await rescan(db, 'default', KINDS, aged) })).toEqual([id]);
    });
  });
});

test('suspects are looked for from where there were none, and from the beginning by a rescan', async ({ db }) => {
  const suspect = { reaps: 2, attempts: 2 };
  let { position } = await claimSome(db);
  await pendingJob(db, { ...suspect, dueInSeconds: -10 });
  expect(await claimSome(db, { position })).toMatchObject({ suspectDue: false });
  const { id } = await pendingJob(db, suspect);
  const told = await claimSome(db, { position });
  expect(told).toMatchObject({ suspectDue: true, position: { suspectMark: position.suspectMark } });
  await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [id]);
  ({ position } = await claimSome(db, { position: told.position }));
  const aged = await ageRescan(db, position, 30);
  expect(await claimSome(db, { position: await rescan(db, 'default', KINDS, aged) })).toMatchObject({
    suspectDue: true,
  });
});

describe('positions', () => {
  test('a set of kinds that nobody had before looks back to the beginning', async ({ db }) => {
    const { id } = await pendingJob(db, { kind: 'new.kind', dueInSeconds: -3600 });
    const { position } = await claimSome(db);
    await publish(db, 'default', KINDS, position);
    const more: Kinds = new Map([...KINDS, ['new.kind', 30]]);
    expect(await openPosition(db, 'default', more)).toMatchObject({ marks: fromTheBeginning });
    expect(await claimedIds(db, { kinds: more })).toEqual([id]);
  });

  test('the order in which a worker lists its kinds does not matter', async ({ db }) => {
    const kinds: Kinds = new Map([
      ['b', 30],
      ['a', 30],
    ]);
    const { position } = await claimSome(db, { kinds });
    await publish(db, 'default', kinds, position);
    const opened = await openPosition(db, 'default', new Map([...kinds].reverse()));
    expect(opened.marks).toEqual(position.marks);
  });

  test('queues have marks of their own', async ({ db }) => {
    const { position } = await claimSome(db);
    await publish(db, 'default', KINDS, position);
    expect(await openPosition(db, 'other', KINDS)).toMatchObject({ marks: fromTheBeginning });
  });

  test('a run begins where another has got to', async ({ db }) => {
    await pendingJob(db, { priority: 1 });
    const { position } = await claimSome(db, { limit: 1 });
    await publish(db, 'default', KINDS, position);
    expect(await open(db)).toEqual({ ...position, near: null, suspectMark: null });
    expect(position.marks.slice(5)).toEqual(Array(6).fill(null));
    expect(position.marks.slice(0, 5)).not.toContain(null);
  });

  test('a run that begins after half a minute without any rescans', async ({ db }) => {
    const { position } = await claimSome(db);
    await publish(db, 'default', KINDS, position);
    await ageRescan(db, position, 30);
    const opened = await open(db);
    expect(opened.marks).toEqual(fromTheBeginning);
    expect(await claimSome(db, { position: opened })).toMatchObject({ rescanDue: false });
  });

  test('one worker wins a rescan; the others go back to what it has published', async ({ db }) => {
    let { position: first } = await claimSome(db);
    let second = first;
    await publish(db, 'default', KINDS, first);
    first = await ageRescan(db, first, 30);
    second = { ...second, rescannedAt: first.rescannedAt };

    first = await rescan(db, 'default', KINDS, first);
    expect(first.marks).toEqual(fromTheBeginning);
    ({ position: first } = await claimSome(db, { position: first }));
    await publish(db, 'default', KINDS, first);
    const adopted = await rescan(db, 'default', KINDS, second);
    expect(adopted.rescannedAt).toBe(first.rescannedAt);
    // Its own marks lie behind those, so it keeps them.
    expect(adopted.marks).toEqual(second.marks);
  });

  test('until the winner has published, the others look back as well: it may be gone', async ({ db }) => {
    const { position } = await claimSome(db);
    await publish(db, 'default', KINDS, position);
    const aged = await ageRescan(db, position, 30);
    await rescan(db, 'default', KINDS, aged);
    expect((await rescan(db, 'default', KINDS, aged)).marks).toEqual(fromTheBeginning);
  });

  test('a worker that missed a rescan does not publish over it', async ({ db }) => {
    const { position: stale } = await claimSome(db);
    const aged = await ageRescan(db, stale, 30);
    await rescan(db, 'default', KINDS, aged);
    await publish(db, 'default', KINDS, aged);
    expect(await open(db)).toMatchObject({ marks: fromTheBeginning });
  });

  test('publishing never takes back what another has published', async ({ db }) => {
    const behind = await open(db);
    const { position: ahead } = await claimSome(db, { position: behind });
    await publish(db, 'default', KINDS, ahead);
    await publish(db, 'default', KINDS, behind);
    expect(await open(db)).toEqual({ ...ahead, near: null, suspectMark: null });
  });
});

describe('the clock of the database is set back by an hour', () => {
  test('a run that begins then looks back: what came in since lies behind all marks', async ({ db }) => {
    const { position } = await claimSome(db);
    const ahead = await anHourAhead(db, position);
    await publish(db, 'default', KINDS, ahead);
    const { id } = await pendingJob(db, { dueInSeconds: -60 });
    expect(await claimedIds(db, { limit: 1 })).toEqual([id]);
  });

  test('a run that goes on finds what comes in at the next claim, and then rescans', async ({ db }) => {
    const { position } = await claimSome(db);
    const ahead = await anHourAhead(db, position);
    const [old, young] = [await pendingJob(db, { dueInSeconds: -60 }), await pendingJob(db)];
    const claimed = await claimSome(db, { position: ahead });
    expect(claimed).toMatchObject({ jobs: [{ id: young.id }], rescanDue: true });
    const lookedBack = await rescan(db, 'default', KINDS, claimed.position);
    expect(await claimSome(db, { position: lookedBack })).toMatchObject({ jobs: [{ id: old.id }], rescanDue: false });
  });

  /** As if the position, and what is published of it, were from before. */
  async function anHourAhead(db: Queryable, position: Position): Promise<Position> {
    const { rescannedAt } = await ageRescan(db, position, -3_600);
    return {
      ...position,
      rescannedAt,
      marks: await Promise.all(position.marks.map((mark) => minus(db, mark, -3_600))),
    };
  }
});

async function minus(db: Queryable, mark: string | null, seconds: number): Promise<string> {
  const { rows } = await db.query<{ mark: string }>(
    `SELECT to_char(($1::timestamptz - make_interval(secs => $2)) AT TIME ZONE 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS mark`,
    [mark, seconds],
  );
  return rows[0]?.mark as string;
}
