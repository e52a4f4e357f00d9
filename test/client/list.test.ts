import { describe, expect, test } from 'vitest';
import { Client } from '../../client/index.ts';
import { type Answer, all, hangUp, job, json, serve } from './server.ts';

/** Three pages of two jobs, told apart by their subjects. */
const pages: Answer = (response, seen) => {
  const from = Number(new URL(seen.target, 'http://x').searchParams.get('cursor') ?? 0);
  const jobs = [from, from + 1].map((n) => job({ subject: `s${n}`, errors: undefined, last_error: null }));
  json(200, { jobs, next_cursor: from < 4 ? String(from + 2) : null })(response, seen);
};

const client = async (...answers: Answer[]) => {
  const server = await serve(...answers);
  return { server, client: new Client({ url: server.url }) };
};

describe('a listing', () => {
  test('gives all jobs of all pages, each time it is gone through', async () => {
    const { server, client: api } = await client(pages);
    const listing = api.list({ kind: 'a', limit: 2 });
    for (let round = 0; round < 2; round++) {
      const subjects = (await all(listing)).map(({ subject }) => subject);
      expect(subjects).toEqual(['s0', 's1', 's2', 's3', 's4', 's5']);
    }
    expect(server.seen.map(({ target }) => target).slice(0, 3)).toEqual([
      '/jobs?kind=a&limit=2',
      '/jobs?kind=a&limit=2&cursor=2',
      '/jobs?kind=a&limit=2&cursor=4',
    ]);
  });

  test('reads no page before it is needed, and none after a break', async () => {
    const { server, client: api } = await client(pages);
    api.list();
    for await (const { subject } of api.list()) if (subject === 's1') break;
    expect(server.seen).toHaveLength(1);
    for await (const { subject } of api.list()) if (subject === 's2') break;
    expect(server.seen).toHaveLength(3);
  });

  test('by pages: what comes next is told, and can be gone on from', async () => {
    const { client: api } = await client(pages);
    const [first] = await all(api.list().pages());
    expect(first).toMatchObject({ jobs: [{ subject: 's0', lastError: null }, { subject: 's1' }], nextCursor: '2' });
    const rest = await all(api.list({ cursor: '4' }).pages());
    expect(rest.map(({ nextCursor }) => nextCursor)).toEqual([null]);
  });

  test('goes on where it was after a hang-up in the middle', async () => {
    const { server, client: api } = await client(pages, hangUp, pages);
    expect(await all(api.list())).toHaveLength(6);
    expect(server.seen.map(({ target }) => target)).toEqual([
      '/jobs',
      '/jobs?cursor=2',
      '/jobs?cursor=2',
      '/jobs?cursor=4',
    ]);
  });

  test.each<[string, object]>([
    ['no jobs', { next_cursor: null }],
    ['no word of a next page', { jobs: [] }],
    ['the same page again, without end', { jobs: [], next_cursor: 'c' }],
  ])('ends with an error on an answer with %s', async (_, page) => {
    const { client: api } = await client(json(200, page));
    await expect(all(api.list({ cursor: 'c' }))).rejects.toMatchObject({ code: 'unexpected-answer' });
  });
});

describe('redriveMany', () => {
  const steps: Answer = (response, seen) => {
    const from = Number(seen.body.cursor ?? 0);
    const next_cursor = from < 2 ? String(from + 1) : null;
    const counts = seen.body.dry_run ? { matched: 5 } : { redriven: 10, skipped: 1 };
    json(200, { ...counts, next_cursor })(response, seen);
  };

  test('takes step after step and adds them up', async () => {
    const { server, client: api } = await client(steps);
    const filter = { kind: 'a', error: 'ECONN', deadAfter: new Date(0), deadBefore: '2026-01-01Z', limit: 10 };
    expect(await api.redriveMany(filter)).toEqual({ redriven: 30, skipped: 3, matched: 0 });
    const wire = {
      kind: 'a',
      error: 'ECONN',
      dead_after: '1970-01-01T00:00:00.000Z',
      dead_before: '2026-01-01Z',
      limit: 10,
    };
    expect(server.seen.map(({ body }) => body)).toEqual([wire, { ...wire, cursor: '1' }, { ...wire, cursor: '2' }]);
    expect(server.seen[0]).toMatchObject({ method: 'POST', target: '/jobs/redrive' });
  });

  test('counts without changing anything', async () => {
    const { server, client: api } = await client(steps);
    expect(await api.redriveMany({ kind: 'a', dryRun: true })).toEqual({ redriven: 0, skipped: 0, matched: 15 });
    expect(server.seen[0]?.body).toEqual({ kind: 'a', dry_run: true });
  });

  test('step by step it can be left and taken up again', async () => {
    const { server, client: api } = await client(steps);
    let cursor: string | null | undefined;
    for await (const step of api.redriveSteps({ kind: 'a' })) {
      cursor = step.nextCursor;
      break;
    }
    expect(server.seen).toHaveLength(1);
    expect(cursor).toBe('1');
    const rest = await all(api.redriveSteps({ kind: 'a', cursor: '1' }));
    expect(rest.map(({ redriven, nextCursor }) => [redriven, nextCursor])).toEqual([
      [10, '2'],
      [10, null],
    ]);
  });

  test('a step whose answer got lost is sent again under its own request id, the next under another', async () => {
    const { server, client: api } = await client(hangUp, steps);
    await api.redriveMany({ kind: 'a' });
    const ids = server.seen.map(({ headers }) => headers['x-request-id']);
    expect(ids[1]).toBe(ids[0]);
    expect(new Set(ids).size).toBe(3);
  });

  test('an answer that leads nowhere ends it', async () => {
    const { client: api } = await client(json(200, { redriven: 0, skipped: 0, next_cursor: 'c' }));
    await expect(api.redriveMany({ kind: 'a' })).rejects.toMatchObject({ code: 'unexpected-answer' });
  });
});
