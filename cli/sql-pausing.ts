import type { Paused, Target } from '../client/pause.ts';
import { isDeclared } from '../functions/queue/list-schedules.ts';
import { pause, resume } from '../functions/queue/pause.ts';
import type { QueueAccess } from './queue.ts';
import type { Sql } from './queue-sql.ts';
import { noSuchSchedule } from './sql-schedules.ts';

type Pausing = Pick<QueueAccess, 'pause' | 'resume'>;

/** Of schedules it is known which there are, as over HTTP (functions/manage/pausing.ts). */
export function pausingBySql({ by, run }: Sql): Pausing {
  const isThere = ({ schedule }: Target) => schedule === undefined || run('act', (db) => isDeclared(db, schedule));
  return {
    pause: async (target) => {
      if (!(await isThere(target))) throw noSuchSchedule(target.schedule);
      const [scope, name] = scopeOf(target);
      await run('act', (db) => pause(db, scope, name, by));
      return { ...target, paused: true } as Paused;
    },
    resume: async (target) => {
      const [scope, name] = scopeOf(target);
      const changed = await run('act', (db) => resume(db, scope, name, by));
      if (!changed && !(await isThere(target))) throw noSuchSchedule(target.schedule);
      return { ...target, paused: false } as Paused;
    },
  };
}

function scopeOf({ kind, queue, schedule }: Target) {
  if (kind !== undefined) return ['kind', kind] as const;
  return queue !== undefined ? (['queue', queue] as const) : (['schedule', schedule] as const);
}
