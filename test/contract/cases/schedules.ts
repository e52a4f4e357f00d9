import { declaredSchedule } from '../../support/schedules.ts';
import type { Ground } from '../ground.ts';
import type { Cases } from './case.ts';

const NAME = 'report.nightly';

/** No worker serves its queue, so that what it has made is still pending when it is answered. */
async function declared({ db }: Ground): Promise<void> {
  await db.query('DELETE FROM millrace.schedules');
  await db.query('DELETE FROM millrace.live_jobs WHERE schedule_name = $1', [NAME]);
  await declaredSchedule(db, { name: NAME, kind: 'hello.greet', queue: 'reports', firedMinutesAgo: 60 });
}

const refusals = (operation: string, verb: string): Cases => ({
  [`${operation} 400 invalid-name`]: ({ send }) => send({ to: `POST /schedules/-/${verb}` }),
  [`${operation} 404 no-such-schedule`]: ({ send }) => send({ to: `POST /schedules/report.nightyl/${verb}` }),
});

export const scheduleCases: Cases = {
  'listSchedules 200 some': async (ground) => {
    await declared(ground);
    return ground.send({ to: 'GET /schedules', as: 'reader' });
  },
  'listSchedules 400 invalid-query': ({ send }) => send({ to: 'GET /schedules?kind=hello.greet' }),
  'pauseSchedule 200 paused': async (ground) => {
    await declared(ground);
    return ground.send({ to: `POST /schedules/${NAME}/pause` });
  },
  ...refusals('pauseSchedule', 'pause'),
  'resumeSchedule 200 resumed': async (ground) => {
    await declared(ground);
    return ground.send({ to: `POST /schedules/${NAME}/resume` });
  },
  ...refusals('resumeSchedule', 'resume'),
  'fireSchedule 201 fired': async (ground) => {
    await declared(ground);
    return ground.send({ to: `POST /schedules/${NAME}/fire` });
  },
  'fireSchedule 409 schedule-overlap': async (ground) => {
    await declared(ground);
    await ground.send({ to: `POST /schedules/${NAME}/fire` });
    return ground.send({ to: `POST /schedules/${NAME}/fire` });
  },
  ...refusals('fireSchedule', 'fire'),
};
