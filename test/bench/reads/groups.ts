import type pg from 'pg';
import { counts } from '../../../functions/queue/counts.ts';
import type { Db } from '../../../functions/queue/db.ts';
import { get } from '../../../functions/queue/get.ts';
import { list } from '../../../functions/queue/list.ts';
import { readiness } from '../../../functions/queue/readiness.ts';
import { stats } from '../../../functions/queue/stats.ts';
import { vitals } from '../../../functions/queue/vitals.ts';
import { combinations, described, type Pages, pagesOf } from './filters.ts';
import { someIds } from './history.ts';

/** Jobs of a page, as `GET /jobs` has it by default, and at most. */
const LIMIT = 50;
const MOST = 200;

/** Reads that stand in one line, of which each is one of the variants. */
export interface Group {
  readonly name: string;
  /** What the slowest of a hundred may take. */
  readonly atMostMs?: number;
  readonly variants: readonly Variant[];
}

export interface Variant {
  /** Empty if there is but one. */
  readonly what: string;
  read(db: Db): Promise<unknown>;
}

/** Of the database that history.ts has loaded. */
export async function groupsOf(client: pg.Client, quick: boolean): Promise<Group[]> {
  const filters = combinations(quick);
  const pages: (Pages & { readonly what: string })[] = [];
  for (const filter of filters) pages.push({ what: described(filter), ...(await pagesOf(client, filter, LIMIT)) });
  const group = (name: string, variants: Group['variants']): Group => ({ name, variants, atMostMs: 10 });
  const pagesAt = (place: keyof Pages) =>
    pages.flatMap(({ what, [place]: listing }) => (listing ? [variant(what, (db) => list(db, listing))] : []));
  const ids = await someIds(client, 100);
  const one = (filter: object) => [variant('', (db) => list(db, { ...filter, limit: LIMIT }))];
  return [
    group(
      'a job',
      ids.map((id) => variant('', (db) => get(db, id))),
    ),
    group(
      'a job, payload and result',
      ids.map((id) => variant('', (db) => get(db, id, { payload: true, result: true }))),
    ),
    group('first page, every combination', pagesAt('first')),
    group('middle page, every combination', pagesAt('middle')),
    group('last page, every combination', pagesAt('last')),
    group(
      'counts, every combination',
      filters.map((filter) => variant(described(filter), (db) => counts(db, filter))),
    ),
    group('a kind with three jobs among all', one({ kind: 'rare' })),
    group('… of the backlog', one({ kind: 'rare', status: 'pending' })),
    group('a subject with a third of all jobs', one({ subject: 'tenant' })),
    group('… with a fiftieth', one({ subject: 'branch' })),
    group(
      `${MOST} jobs, every combination of kind and status`,
      filters
        .filter(({ subject, createdAfter, createdBefore }) => !(subject ?? createdAfter ?? createdBefore))
        .map((filter) => variant(described(filter), (db) => list(db, { ...filter, limit: MOST }))),
    ),
    { name: '/metrics', atMostMs: 20, variants: [variant('', stats)] },
    group('/ready', [variant('', readiness)]),
    group('/ready?include=database', [variant('', vitals)]),
  ];
}

function variant(what: string, read: Variant['read']): Variant {
  return { what, read };
}
