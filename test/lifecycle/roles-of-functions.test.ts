import type { HttpHandler } from '../../functions/lambda/http.ts';
import { answered, context, httpEvent } from '../functions/api.ts';
import { expireLease } from '../support/factories.ts';
import { test as base, beforeEach, expect, vi } from '../support/fixtures.ts';
import { createLogin, type DatabaseRole, type Login, ROLES } from '../support/logins.ts';

/** Each function with the role that it connects as where every one has a login of its own. */
const FUNCTIONS = {
  enqueue: 'producer',
  'jobs-read': 'reader',
  ready: 'reader',
  metrics: 'reader',
  manage: 'operator',
} as const;

const test = base.extend('as', async ({ fileDatabase, db: _ }, { onCleanup }) => {
  const logins: Login[] = [];
  for (const role of ROLES) logins.push(await createLogin(fileDatabase, role));
  onCleanup(async () => {
    for (const login of logins) await login.drop();
  });
  return Object.fromEntries(ROLES.map((role, index) => [role, logins[index]])) as Record<DatabaseRole, Login>;
});

beforeEach(() => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
});

test('every function does its work under its own role, and the job goes all its ways', async ({ db, as }) => {
  const ask = async (name: keyof typeof FUNCTIONS, method: string, target: string, body?: object) => {
    // Read at the first call of each handler.
    process.env.DATABASE_URL = as[FUNCTIONS[name]].url;
    const { handler }: { handler: HttpHandler } = await import(`../../functions/${name}/handler.ts`);
    return answered(await handler(httpEvent(method, target, body && { body }), context()));
  };
  const tick = async (name: 'work' | 'reap', event: object) => {
    process.env.DATABASE_URL = as[name === 'work' ? 'worker' : 'reaper'].url;
    process.env.WORKER_PICKUP = 'minute';
    const { handler } = await import(`../../functions/${name}/handler.ts`);
    return handler(event, context(30_000));
  };
  const job = { kind: 'hello.greet', payload: { name: 'Ada' }, subject: 'customer:7' };

  const put = await ask('enqueue', 'POST', '/jobs', job);
  // With all that is known of it: whoever puts it in can read it back.
  expect(put).toMatchObject({ status: 201, body: { status: 'pending', subject: 'customer:7', outcome: 'created' } });
  const { id } = put.body;
  const batch = {
    jobs: [
      { ...job, unique_key: 'u', delay_seconds: 60 },
      { ...job, idempotency_key: 'k' },
    ],
  };
  expect(await ask('enqueue', 'POST', '/jobs/batch', batch)).toMatchObject({ status: 201 });
  expect(await ask('manage', 'POST', '/kinds/hello.greet/pause')).toMatchObject({ status: 200 });
  expect(await tick('work', { slot: 0 })).toMatchObject({ claimed: 0 });
  expect(await ask('ready', 'GET', '/ready')).toMatchObject({ status: 200, body: { paused: [{ name: job.kind }] } });
  expect(await ask('manage', 'POST', '/kinds/hello.greet/resume')).toMatchObject({ status: 200 });
  expect(await tick('work', { slot: 0 })).toMatchObject({ completed: 2, unsettled: 0 });
  expect(await ask('jobs-read', 'GET', `/jobs/${id}?include=payload,result&wait=1`)).toMatchObject({
    status: 200,
    body: { status: 'completed', payload: job.payload },
  });
  const listed = await ask('jobs-read', 'GET', '/jobs?subject=customer:7&counts=true');
  expect(listed).toMatchObject({ status: 200, body: { counts: { pending: 1, completed: 2 } } });

  const late = listed.body.jobs.find(({ status }: { status: string }) => status === 'pending').id;
  await db.query(
    `UPDATE millrace.live_jobs
     SET status = 'processing', attempts = max_attempts, locked_by = gen_random_uuid(), locked_until = now()
     WHERE id = $1`,
    [late],
  );
  await expireLease(db, late);
  expect(await tick('reap', {})).toMatchObject({ reaped: 1, postponed: false });
  expect(await ask('manage', 'POST', `/jobs/${late}/redrive`)).toMatchObject({
    status: 200,
    body: { status: 'pending' },
  });
  expect(await ask('manage', 'POST', `/jobs/${late}/cancel`)).toMatchObject({ status: 200 });
  expect(await ask('manage', 'DELETE', `/jobs/${late}`)).toMatchObject({ status: 204 });
  expect(await ask('manage', 'POST', '/jobs/redrive', { kind: job.kind })).toMatchObject({ status: 200 });
  const metrics = await ask('metrics', 'GET', '/metrics');
  expect(metrics.text).toContain('millrace_jobs_completed_total{kind="hello.greet"} 2');
});
