import { complete } from '../../functions/queue/complete.ts';
import { type Listing, list } from '../../functions/queue/list.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../support/factories.ts';
import { describe, expect, openPool, test } from '../support/fixtures.ts';

const MAKERS = [pendingJob, processingJob, finishedJob, deadJob];

describe('list', () => {
  test('pages by id, newest first, whatever the filters; each job once', async ({ db }) => {
    const made: { id: string; kind: string; status: string }[] = [];
    for (let n = 0; n < 40; n++) {
      const at = n % MAKERS.length;
      const kind = n % 3 === 0 ? 'a' : 'b';
      const { id } = await (MAKERS[at] as typeof finishedJob)(db, { kind, createdSecondsAgo: 40 - n });
      made.unshift({ id, kind, status: ['pending', 'processing', 'completed', 'dead'][at] as string });
    }
    const filters: Pick<Listing, 'status' | 'kind'>[] = [
      {},
      { kind: 'a' },
      { status: 'pending' },
      { status: 'processing' },
      { status: 'completed' },
      { status: 'cancelled' },
      { status: 'dead' },
      { kind: 'b', status: 'dead' },
      { kind: 'b', status: 'processing' },
      { kind: 'c' },
    ];
    for (const filter of filters) {
      const wanted = made.filter(
        ({ kind, status }) => (filter.kind ?? kind) === kind && (filter.status ?? status) === status,
      );
      for (const limit of [1, 3, 200]) {
        const seen: string[] = [];
        let from: string | undefined;
        do {
          const page = await list(db, { ...filter, limit, from });
          expect(page.jobs.length).toBeLessThanOrEqual(limit);
          seen.push(...page.jobs.map(({ id }) => id));
          from = page.next;
        } while (from !== undefined);
        expect(seen, JSON.stringify({ ...filter, limit })).toEqual(wanted.map(({ id }) => id));
      }
    }
  });

  test('a kind is not taken for one that begins like it', async ({ db }) => {
    for (const kind of ['a', 'a.b', 'A', 'b']) await pendingJob(db, { kind });
    expect((await list(db, { kind: 'a', limit: 10 })).jobs.map(({ kind }) => kind)).toEqual(['a']);
    expect((await list(db, { status: 'pending', limit: 10 })).jobs).toHaveLength(4);
  });

  test('sees a job once while it moves from one table to another', async ({ db, databaseUrl }) => {
    const jobs = await Promise.all(Array.from({ length: 60 }, () => processingJob(db)));
    const mover = openPool(databaseUrl, 1);
    const moving = (async () => {
      for (const job of jobs) await complete(mover, [{ ...job, result: null }]);
    })();
    const ids = jobs.map(({ id }) => id).sort();
    for (let look = 0; look < 40; look++) {
      const page = await list(db, { limit: 100 });
      expect(page.jobs.map(({ id }) => id).sort()).toEqual(ids);
    }
    await moving;
    await mover.end();
  });

  test('shows of the errors the last one, and not its stack', async ({ db }) => {
    await deadJob(db, {
      errors: [
        { attempt: 1, name: 'A', message: 'first' },
        { attempt: 2, name: 'B', message: 'last', stack: 'at …' },
      ],
    });
    await pendingJob(db);
    const { jobs } = await list(db, { limit: 2 });
    expect(jobs.map((job) => job.last_error)).toEqual([null, { attempt: 2, name: 'B', message: 'last' }]);
  });
});
