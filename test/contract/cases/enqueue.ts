import type { Answered } from '../../openapi/expect-answer.ts';
import { openClient } from '../../support/fixtures.ts';
import type { Ground, Request } from '../ground.ts';
import { type Cases, having } from './case.ts';

const ADA = { kind: 'hello.greet', payload: { name: 'Ada' } };
/** Stays pending while the case looks at it. */
const LATER = { ...ADA, delay_seconds: 3600 };

/** What one job and a batch of it are refused for alike. */
const refusals = (operation: string, to: string, bodyOf: (job: unknown) => unknown): Cases => ({
  [`${operation} 400 not-json`]: ({ send }) => send({ to, body: '{"kind": "hello.greet", "payload": ' }),
  [`${operation} 409 key-in-use`]: (ground) => {
    const key = `held from ${operation}`;
    return whileKeyIsHeld(ground, key, { to, body: bodyOf({ ...LATER, idempotency_key: key }) });
  },
  [`${operation} 413 too-large`]: ({ send }) =>
    send({ to, body: bodyOf({ ...ADA, payload: { name: 'a'.repeat(5_000_000) } }) }),
  [`${operation} 415 unsupported-media-type`]: ({ send }) =>
    send({ to, body: JSON.stringify(bodyOf(ADA)), headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  [`${operation} 422 invalid-job`]: ({ send }) =>
    send({ to, body: bodyOf({ ...ADA, payload: { nmae: 'Ada' }, priority: 9 }) }),
  [`${operation} 422 idempotency-key-reused`]: async ({ send }) => {
    const keyed = { ...LATER, idempotency_key: `reused by ${operation}` };
    await send({ to, body: bodyOf(keyed) });
    return send({ to, body: bodyOf({ ...keyed, payload: { name: 'Grace' } }) });
  },
});

export const enqueueCases: Cases = {
  'enqueue 201 created': ({ send }) =>
    having(
      { location: /^\/jobs\/[0-9a-f-]{36}$/, 'x-request-id': /^order-1042$/ },
      send({
        to: 'POST /jobs',
        body: { ...LATER, priority: 3, subject: 'invoice:7' },
        headers: { 'x-request-id': 'order-1042' },
      }),
    ),
  'enqueue 201 unread': ({ send, proxy }) => {
    // It is read twice: over the connection that breaks, and over a new one.
    void proxy.loseStatement(READ_BACK);
    void proxy.loseStatement(READ_BACK);
    return send({ to: 'POST /jobs', body: LATER });
  },
  'enqueue 200 replayed': async ({ send }) => {
    const request = { to: 'POST /jobs', body: LATER, headers: { 'idempotency-key': 'order-1042-greeting' } };
    const { location = '' } = (await send(request)).headers;
    return having({ location: new RegExp(`^${location}$`), 'idempotency-replayed': /^true$/ }, send(request));
  },
  'enqueue 200 pruned': async ({ send, db }) => {
    const body = { ...LATER, idempotency_key: 'order-7-greeting' };
    const { id } = (await send({ to: 'POST /jobs', body })).body;
    await db.query('DELETE FROM millrace.live_jobs WHERE id = $1', [id]);
    return send({ to: 'POST /jobs', body });
  },
  'enqueue 200 kept': async ({ send }) => {
    const body = { ...LATER, unique_key: 'customer:7' };
    await send({ to: 'POST /jobs', body });
    return send({ to: 'POST /jobs', body });
  },
  'enqueue 200 replaced': async ({ send }) => {
    const body = { ...LATER, unique_key: 'customer:8' };
    await send({ to: 'POST /jobs', body });
    return send({ to: 'POST /jobs', body: { ...body, delay_seconds: 7200, replace: ['payload', 'run_at'] } });
  },
  'enqueue 422 unknown-kind': ({ send }) => send({ to: 'POST /jobs', body: { ...ADA, kind: 'hello.great' } }),
  'enqueue 422 unstorable-value': ({ send }) =>
    send({ to: 'POST /jobs', body: { ...ADA, payload: { name: 'Ada\0' } } }),
  ...refusals('enqueue', 'POST /jobs', (job) => job),
  'enqueueBatch 201 created': ({ send }) =>
    send({ to: 'POST /jobs/batch', body: { jobs: [LATER, { ...LATER, payload: { name: 'Grace' } }] } }),
  'enqueueBatch 200 replayed': async ({ send }) => {
    const jobs = ['a', 'b'].map((key) => ({ ...LATER, idempotency_key: `batch of ${key}` }));
    await send({ to: 'POST /jobs/batch', body: { jobs } });
    return send({ to: 'POST /jobs/batch', body: { jobs } });
  },
  ...refusals('enqueueBatch', 'POST /jobs/batch', (job) => ({ jobs: [LATER, job] })),
};

/** A piece of the statement by which a job is read without its content, and of no other. */
const READ_BACK = 'millrace.jobs_without_content(ARRAY';

/** Sends it while a transaction that has put in a job with the key is open. */
async function whileKeyIsHeld({ send, databaseUrl }: Ground, key: string, request: Request): Promise<Answered> {
  const holder = await openClient(databaseUrl);
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT millrace.enqueue('hello.greet', '{"name": "Ada"}', idempotency_key => $1)`, [key]);
    return await send(request);
  } finally {
    await holder.end();
  }
}
