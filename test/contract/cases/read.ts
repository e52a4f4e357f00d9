import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { look } from '../../../functions/queue/look.ts';
import type { Answered } from '../../openapi/expect-answer.ts';
import { deadJob, finishedJob, pendingJob, processingJob } from '../../support/factories.ts';
import type { Ground } from '../ground.ts';
import { type Cases, having, NOWHERE } from './case.ts';

const ADA = { kind: 'hello.greet', payload: { name: 'Ada' } };
const failed = () => ({
  attempt: 5,
  started_at: new Date().toISOString(),
  failed_at: new Date().toISOString(),
  name: 'DeadlineError',
  message: 'the attempt took longer than 5 s',
  stack: 'DeadlineError: the attempt took longer than 5 s',
  where: 'Work',
});

export const readCases: Cases = {
  'listJobs 200 page': (ground) =>
    having({ link: /^<\/jobs\?.*cursor=.+>; rel="next"$/ }, listed(ground, 'order:1', 'limit=2')),
  'listJobs 200 last': async (ground) => {
    const { headers } = await listed(ground, 'order:2', 'limit=2');
    const [, next] = /<(.*)>; rel="next"/.exec(headers.link ?? '') ?? [];
    return ground.send({ to: `GET ${next}`, as: 'reader' });
  },
  'listJobs 200 counted': (ground) => listed(ground, 'order:3', 'limit=1&counts=true'),
  'listJobs 400 invalid-query': ({ send }) => send({ to: 'GET /jobs?limit=201&state=dead' }),
  'listJobs 400 invalid-cursor': ({ send }) => send({ to: 'GET /jobs?cursor=AQGWo8gd' }),

  'getJob 200 pending': async ({ send, db }) => {
    const { id } = await pendingJob(db, { ...ADA, dueInSeconds: 3600 });
    return send({ to: `GET /jobs/${id}`, as: 'producer' });
  },
  'getJob 200 processing': async ({ send, db }) => {
    const { id } = await processingJob(db, ADA);
    await db.query(`INSERT INTO millrace.job_progress (id, fraction, note) VALUES ($1, 0.5, 'half of them')`, [id]);
    return send({ to: `GET /jobs/${id}` });
  },
  'getJob 200 completed': async ({ send, db }) => {
    const { id } = await finishedJob(db, { ...ADA, result: { greeting: 'Hello, Ada!' } });
    return send({ to: `GET /jobs/${id}?include=payload,result`, as: 'reader' });
  },
  'getJob 200 dead': async ({ send, db }) => {
    const { id } = await deadJob(db, { ...ADA, errors: [failed()] });
    return send({ to: `GET /jobs/${id}` });
  },
  'getJob 200 waited': async ({ send }) => {
    const { id } = (await send({ to: 'POST /jobs', body: ADA })).body;
    return send({ to: `GET /jobs/${id}?wait=20` });
  },
  'getJob 200 busy': async (ground) => {
    const { id } = await pendingJob(ground.db, { ...ADA, dueInSeconds: 3600 });
    return having(
      { 'retry-after': /^1$/ },
      whileManyWait(ground, () => ground.send({ to: `GET /jobs/${id}?wait=20` })),
    );
  },
  'getJob 400 invalid-id': ({ send }) => send({ to: 'GET /jobs/7' }),
  'getJob 400 invalid-query': ({ send }) => send({ to: `GET /jobs/${NOWHERE}?include=secrets&wait=21` }),
  'getJob 403 forbidden': ({ send }) => send({ to: `GET /jobs/${NOWHERE}?include=payload`, as: 'producer' }),
  'getJob 404 no-such-job': ({ send }) => send({ to: `GET /jobs/${NOWHERE}` }),
  'getJob 413 too-large': async ({ send, db }) => {
    // Each quote is two bytes as JSON, and four in what a function returns.
    const { id } = await finishedJob(db, { ...ADA, payload: '"'.repeat(1_600_000) });
    return send({ to: `GET /jobs/${id}?include=payload` });
  },
};

/** Of three jobs about the subject, which it has made. */
async function listed({ send, db }: Ground, subject: string, query: string): Promise<Answered> {
  await deadJob(db, { ...ADA, subject, createdSecondsAgo: 120, errors: [failed()] });
  await finishedJob(db, { ...ADA, subject, createdSecondsAgo: 60 });
  await pendingJob(db, { ...ADA, subject, dueInSeconds: 3600 });
  return send({ to: `GET /jobs?subject=${subject}&${query}`, as: 'producer' });
}

/** As many functions wait on the database as may, all from before. */
async function whileManyWait({ databaseUrl, proxy }: Ground, request: () => Promise<Answered>): Promise<Answered> {
  const settings = { connectionString: databaseUrl, application_name: 'millrace-jobs-read' };
  const others = Array.from({ length: 20 }, () => new pg.Client(settings));
  await Promise.all(others.map((other) => other.connect()));
  // The API connects anew, and is the last.
  proxy.cut();
  let isOver = false;
  // Who has not looked for a second waits no more; ten times a second is enough for that.
  const waiting = async () => {
    while (!isOver) await Promise.all([...others.map((other) => look(other, [])), sleep(100)]);
  };
  const waited = waiting();
  try {
    return await request();
  } finally {
    isOver = true;
    await waited;
    await Promise.all(others.map((other) => other.end()));
  }
}
