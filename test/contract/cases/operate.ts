import type { Answered } from '../../openapi/expect-answer.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../../support/factories.ts';
import { openClient } from '../../support/fixtures.ts';
import type { Ground } from '../ground.ts';
import { type Cases, NOWHERE } from './case.ts';

const ADA = { kind: 'hello.greet', payload: { name: 'Ada' } };

/** What every verb on one job is refused for. */
const refusals = (operation: string, toJob: (id: string) => string): Cases => ({
  [`${operation} 400 invalid-id`]: ({ send }) => send({ to: toJob('7') }),
  [`${operation} 404 no-such-job`]: ({ send }) => send({ to: toJob(NOWHERE) }),
});

const pauses = (what: 'queue' | 'kind'): Cases => {
  const operation = what === 'queue' ? 'Queue' : 'Kind';
  const name = what === 'queue' ? 'default' : 'hello.greet';
  return {
    [`pause${operation} 200 paused`]: ({ send }) => send({ to: `POST /${what}s/${name}/pause` }),
    [`pause${operation} 400 invalid-name`]: ({ send }) => send({ to: `POST /${what}s/-/pause` }),
    [`resume${operation} 200 resumed`]: ({ send }) => send({ to: `POST /${what}s/${name}/resume` }),
    [`resume${operation} 400 invalid-name`]: ({ send }) => send({ to: `POST /${what}s/-/resume` }),
  };
};

export const operateCases: Cases = {
  'cancelJob 200 cancelled': async ({ send, db }) => {
    const { id } = await pendingJob(db, { ...ADA, dueInSeconds: 3600 });
    return send({ to: `POST /jobs/${id}/cancel` });
  },
  'cancelJob 202 requested': async ({ send, db }) => {
    const { id } = await processingJob(db, ADA);
    return send({ to: `POST /jobs/${id}/cancel` });
  },
  'cancelJob 409 wrong-state': async ({ send, db }) => {
    const { id } = await finishedJob(db, ADA);
    return send({ to: `POST /jobs/${id}/cancel` });
  },
  'cancelJob 409 key-in-use': async ({ send, db, databaseUrl }) => {
    const { id } = await pendingJob(db, { ...ADA, uniqueKey: 'customer:11', dueInSeconds: 3600 });
    const holder = await openClient(databaseUrl);
    try {
      await holder.query('BEGIN');
      await holder.query(`SELECT millrace.enqueue($1, '{}', unique_key => 'customer:11')`, [ADA.kind]);
      return await send({ to: `POST /jobs/${id}/cancel` });
    } finally {
      await holder.end();
    }
  },
  ...refusals('cancelJob', (id) => `POST /jobs/${id}/cancel`),

  'redriveJob 200 redriven': async ({ send, db }) => {
    // No worker serves that queue, so that it is still pending when it is answered.
    const { id } = await deadJob(db, { ...ADA, queue: 'reports' });
    await send({ to: 'POST /queues/reports/pause' });
    return send({ to: `POST /jobs/${id}/redrive` });
  },
  'redriveJob 409 wrong-state': async ({ send, db }) => {
    const { id } = await pendingJob(db, { ...ADA, dueInSeconds: 3600 });
    return send({ to: `POST /jobs/${id}/redrive` });
  },
  'redriveJob 409 unique-key-taken': async ({ send, db }) => {
    const { id } = await deadJob(db, ADA);
    await db.query(`UPDATE millrace.dead_jobs SET unique_key = 'customer:9' WHERE id = $1`, [id]);
    await send({ to: 'POST /jobs', body: { ...ADA, delay_seconds: 3600, unique_key: 'customer:9' } });
    return send({ to: `POST /jobs/${id}/redrive` });
  },
  'redriveJob 409 key-in-use': (ground) =>
    whileTwinIsHeld(ground, (id) => ground.send({ to: `POST /jobs/${id}/redrive` })),
  ...refusals('redriveJob', (id) => `POST /jobs/${id}/redrive`),

  'redriveJobs 200 redriven': async ({ send, db }) => {
    await deadJob(db, { kind: 'of.redriven' });
    return send({ to: 'POST /jobs/redrive', body: { kind: 'of.redriven' } });
  },
  'redriveJobs 200 more': async ({ send, db }) => {
    await deadJob(db, { kind: 'of.more' });
    await deadJob(db, { kind: 'of.more' });
    return send({ to: 'POST /jobs/redrive', body: { kind: 'of.more', limit: 1 } });
  },
  'redriveJobs 200 matched': async ({ send, db }) => {
    await deadJob(db, { kind: 'of.matched' });
    return send({ to: 'POST /jobs/redrive', body: { kind: 'of.matched', error: 'BOOM', dry_run: true } });
  },
  'redriveJobs 400 not-json': ({ send }) => send({ to: 'POST /jobs/redrive', body: '{"kind": ' }),
  'redriveJobs 400 invalid-cursor': ({ send }) =>
    send({ to: 'POST /jobs/redrive', body: { kind: 'hello.greet', cursor: 'AQGWo8gd' } }),
  'redriveJobs 413 too-large': ({ send }) =>
    send({ to: 'POST /jobs/redrive', body: { kind: 'hello.greet', error: 'a'.repeat(1_000_000) } }),
  'redriveJobs 415 unsupported-media-type': ({ send }) =>
    send({
      to: 'POST /jobs/redrive',
      body: 'kind=hello.greet',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    }),
  'redriveJobs 422 unstorable-value': ({ send }) => send({ to: 'POST /jobs/redrive', body: { error: 'a\0' } }),
  'redriveJobs 422 invalid-filter': ({ send }) => send({ to: 'POST /jobs/redrive', body: { limit: 1001 } }),

  'eraseJob 204': async ({ send, db }) => {
    const { id } = await finishedJob(db, ADA);
    return send({ to: `DELETE /jobs/${id}` });
  },
  'eraseJob 409 wrong-state': async ({ send, db }) => {
    const { id } = await pendingJob(db, { ...ADA, dueInSeconds: 3600 });
    return send({ to: `DELETE /jobs/${id}` });
  },
  ...refusals('eraseJob', (id) => `DELETE /jobs/${id}`),

  ...pauses('queue'),
  ...pauses('kind'),
};

/** While a transaction is open that has put in a pending job with the unique key of a dead one. */
async function whileTwinIsHeld(
  { db, databaseUrl }: Ground,
  request: (id: string) => Promise<Answered>,
): Promise<Answered> {
  const { id, kind } = await deadJob(db, { kind: 'of.held' });
  await db.query(`UPDATE millrace.dead_jobs SET unique_key = 'customer:10' WHERE id = $1`, [id]);
  const holder = await openClient(databaseUrl);
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT millrace.enqueue($1, '{}', unique_key => 'customer:10')`, [kind]);
    return await request(id);
  } finally {
    await holder.end();
    await db.query('DELETE FROM millrace.dead_jobs WHERE id = $1', [id]);
  }
}
