import { camelCased } from '../client/names.ts';
import type { Schedule } from '../client/schedules.ts';
import { fireByHand } from '../functions/queue/fire-by-hand.ts';
import { listSchedules } from '../functions/queue/list-schedules.ts';
import { CliError, EXIT } from './cli-error.ts';
import type { QueueAccess } from './queue.ts';
import type { Sql } from './queue-sql.ts';
import { getBySql } from './sql-reading.ts';

type Recurring = Pick<QueueAccess, 'schedules' | 'fire'>;

export function schedulesBySql(sql: Sql): Recurring {
  const { by, run } = sql;
  return {
    schedules: async () => camelCased(await run('read', listSchedules)) as Schedule[],
    fire: async (name) => {
      const answer = await run('act', (db) => fireByHand(db, name, by));
      if (answer === undefined) throw noSuchSchedule(name);
      if (answer.outcome === 'fired') return getBySql(sql, answer.jobId);
      const detail = `Its job ${answer.jobId} has not ended, and its jobs do not overlap; nothing was made.`;
      throw new CliError(detail, EXIT.notThere, { code: 'schedule-overlap' });
    },
  };
}

export function noSuchSchedule(name: string | undefined): CliError {
  const detail = `No worker has declared a schedule ${name} in the last 30 days: look in the list of schedules for its name.`;
  return new CliError(detail, EXIT.notThere, { code: 'no-such-schedule' });
}
