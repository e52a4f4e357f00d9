import { type Database, resent } from '../lambda/database.ts';
import { type HttpAnswer, type HttpEvent, json } from '../lambda/http.ts';
import { isDeclared } from '../queue/list-schedules.ts';
import type { Operator } from '../queue/operator.ts';
import { type PauseScope, pause, resume } from '../queue/pause.ts';
import { noSuchSchedule } from './no-such-schedule.ts';
import { nameOf } from './path-name.ts';
import { wakeWorkers } from './wake-workers.ts';

/**
 * A queue or kind that has no jobs yet can be named too. Of schedules it is known which there are: whoever mistypes the one that
 * must not fire tonight is told so now.
 */
export function pausing(scope: PauseScope, paused: boolean) {
  return async (event: HttpEvent, db: Database, by: Operator): Promise<HttpAnswer> => {
    const name = nameOf(event, scope);
    const isThere = async () => scope !== 'schedule' || (await resent(() => isDeclared(db, name)));
    if (paused && !(await isThere())) throw noSuchSchedule(name);
    const changed = await resent(() => (paused ? pause : resume)(db, scope, name, by));
    // A pause outlives its schedule.
    if (!paused && !changed && !(await isThere())) throw noSuchSchedule(name);
    if (changed && !paused) await wakeWorkers(event, db, wakingQueues(scope, name));
    return json(200, { [scope]: name, paused });
  };
}

/** Which workers have something to do after a resume. None is missed where only fire times go on. */
function wakingQueues(scope: PauseScope, name: string): readonly string[] | 'all' {
  if (scope === 'schedule') return [];
  return scope === 'queue' ? [name] : 'all';
}
