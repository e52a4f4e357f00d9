import { setTimeout as sleep } from 'node:timers/promises';
import type { Job, JobWith, ListedJob, Part } from '../client/job.ts';
import { camelCased } from '../client/names.ts';
import type { Ended } from '../client/wait-for.ts';
import { SCHEMA_VERSION } from '../functions/lambda/schema-version.ts';
import { COUNT_LIMIT, counts } from '../functions/queue/counts.ts';
import { get, type JobDetails } from '../functions/queue/get.ts';
import { list } from '../functions/queue/list.ts';
import { look } from '../functions/queue/look.ts';
import { readiness } from '../functions/queue/readiness.ts';
import { stats } from '../functions/queue/stats.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { QueueAccess } from './queue.ts';
import type { Sql } from './queue-sql.ts';

type Reading = Pick<QueueAccess, 'get' | 'waitFor' | 'pages' | 'counts' | 'stats' | 'ready'>;

/** Milliseconds from one look to the next while a job is waited for. */
const LOOK_MS = 200;

export function readingBySql({ run }: Sql): Reading {
  return {
    get: (id, include = []) => getBySql({ run }, id, include),
    waitFor: async (id, { timeoutSeconds, include }) => {
      const endsAt = performance.now() + timeoutSeconds * 1000;
      for (;;) {
        const { ended } = await run('see', (db) => look(db, [id]));
        const left = endsAt - performance.now();
        if (ended.length > 0) return (await getBySql({ run }, id, include)) as Ended<(typeof include)[number]>;
        if (left <= 0) throw notEnded(timeoutSeconds);
        await sleep(Math.min(LOOK_MS, left));
      }
    },
    async *pages(filter, limit) {
      for (let from: string | undefined; ; ) {
        const { jobs, next } = await run('see', (db) => list(db, { ...filter, limit, from }));
        yield { jobs: camelCased(jobs) as ListedJob[], nextCursor: next ?? null };
        if (next === undefined) return;
        from = next;
      }
    },
    counts: async (filter) => ({ counts: await run('see', (db) => counts(db, filter)), countsLimit: COUNT_LIMIT }),
    stats: () => run('read', stats),
    ready: async () => {
      const { kindsUnclaimed: _, ...ready } = await run('read', readiness);
      if (ready.schemaVersion < SCHEMA_VERSION) {
        const have = `The database has migration ${ready.schemaVersion} and needs ${SCHEMA_VERSION}`;
        throw new CliError(`${have}: run npx millrace migrate.`, EXIT.unreachable, { code: 'schema-outdated' });
      }
      return { status: 'ready', ...ready };
    },
  };
}

/** @throws CliError if there is no such job */
export async function getBySql<P extends Part = never>(
  { run }: Pick<Sql, 'run'>,
  id: string,
  include: readonly P[] = [],
): Promise<JobWith<P>> {
  const parts = { payload: include.includes('payload' as P), result: include.includes('result' as P) };
  const job = await run(include.length > 0 ? 'read' : 'see', (db) => get(db, id, parts));
  if (job === undefined) throw noSuchJob(id);
  return asOverHttp(job) as JobWith<P>;
}

export function noSuchJob(id: string): CliError {
  return new CliError(`No job has the id ${id}, or its retention is over.`, EXIT.notThere, { code: 'no-such-job' });
}

function asOverHttp({ payload, result, ...job }: JobDetails): Job {
  return {
    ...(camelCased({ ...job, errors: job.errors ?? [] }) as Job),
    ...(payload !== undefined && { payload: JSON.parse(payload ?? 'null') }),
    ...(result !== undefined && { result: JSON.parse(result ?? 'null') }),
  };
}

function notEnded(seconds: number): CliError {
  return new CliError(`The job has not ended within ${seconds} s: wait longer, or look again later.`, EXIT.failed, {
    code: 'timed-out',
  });
}
