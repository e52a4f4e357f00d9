import { pendingJob } from '../../support/factories.ts';
import type { Cases } from './case.ts';

export const observeCases: Cases = {
  'health 200 ok': ({ send }) => send({ to: 'GET /health', as: null }),
  'ready 200 ready': async ({ send, db }) => {
    // What other cases have left.
    await db.query('DELETE FROM millrace.pauses');
    await db.query(`DELETE FROM millrace.live_jobs WHERE kind <> 'hello.greet' OR queue <> 'default'`);
    return send({ to: 'GET /ready' });
  },
  'ready 200 paused': async ({ send, db }) => {
    await pendingJob(db, { kind: 'hello.wave', queue: 'reports' });
    await send({ to: 'POST /queues/reports/pause' });
    return send({ to: 'GET /ready' });
  },
  'ready 200 database': ({ send }) => send({ to: 'GET /ready?include=database' }),
  'ready 400 invalid-query': ({ send }) => send({ to: 'GET /ready?include=weather&verbose=1' }),
  'metrics 200 exposition': ({ send }) => send({ to: 'GET /metrics', as: 'reader' }),
  'openapi 200': ({ send }) => send({ to: 'GET /openapi.json', as: 'producer' }),
};
