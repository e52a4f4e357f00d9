/* A worker process of pg-boss. */
import type { Job, JobResult, PgBoss } from 'pg-boss';
import { type Inside, inside } from '../systems/inside.ts';
import type { Payload } from '../systems/system.ts';
import { QUEUE, quiet, type Settings } from './pg-boss.ts';

await inside<Settings>(async ({ databaseUrl, settings: { boss: options, work: how }, work, job, settled }) => {
  const boss = quiet({ connectionString: databaseUrl, ...options });
  await boss.start();
  countCompletions(boss.getDb(), settled);
  const one = ({ data, retryCount }: Job<Payload>) => job(data, retryCount + 1);
  return {
    go: () => {
      if (work.kind === 'fail once')
        boss.work<Payload>(QUEUE, { ...how, perJobResults: true }, (jobs) => each(jobs, one));
      else boss.work<Payload>(QUEUE, how, (jobs) => all(jobs, one));
    },
    stop: async () => {
      await boss.stop({ graceful: true, timeout: 5_000 });
    },
  };
});

type One = (job: Job<Payload>) => ReturnType<Inside<Settings>['job']>;

async function all(jobs: readonly Job<Payload>[], one: One): Promise<void> {
  await Promise.all(jobs.map(one));
}

async function each(jobs: readonly Job<Payload>[], one: One): Promise<JobResult[]> {
  const settled = await Promise.allSettled(jobs.map(async (job) => one(job)));
  return settled.map(({ status }, at) => ({
    id: (jobs[at] as Job<Payload>).id,
    status: status === 'fulfilled' ? 'completed' : 'failed',
  }));
}

/** A handler has returned before the database knows of it. */
function countCompletions(db: ReturnType<PgBoss['getDb']>, settled: (jobs: number) => void): void {
  const execute = db.executeSql.bind(db);
  db.executeSql = async (text: string, values?: unknown[]) => {
    const answer = await execute(text, values);
    if (text.includes('completed_on = ')) settled(Number(answer.rows[0]?.count ?? 0));
    return answer;
  };
}
