import type { Role } from '../../functions/lambda/role.ts';
import type { RouteKey } from '../../functions/lambda/routes.ts';

/** A request, and who may send it. */
export interface Allowed {
  readonly route: RouteKey;
  readonly target: string;
  readonly body?: object;
  readonly roles: readonly Role[];
  /** What it is answered to those who may, in an empty database. */
  readonly status: number;
}

const ID = '0195c9f0-0000-7000-8000-000000000000';
const JOB = { kind: 'hello.greet', payload: { name: 'Ada' } };
const ENQUEUE: readonly Role[] = ['producer', 'operator'];
const SEE: readonly Role[] = ['producer', 'reader', 'operator'];
const READ: readonly Role[] = ['reader', 'operator'];
const OPERATE: readonly Role[] = ['operator'];

/** Written down here once more, and not taken from ROUTES: this is what the documentation promises. */
export const ALLOWED: readonly Allowed[] = [
  { route: 'POST /jobs', target: '/jobs', body: JOB, roles: ENQUEUE, status: 201 },
  { route: 'POST /jobs/batch', target: '/jobs/batch', body: { jobs: [JOB] }, roles: ENQUEUE, status: 201 },
  { route: 'GET /jobs', target: '/jobs', roles: SEE, status: 200 },
  { route: 'GET /jobs/{id}', target: `/jobs/${ID}`, roles: SEE, status: 404 },
  { route: 'GET /jobs/{id}', target: `/jobs/${ID}?include=payload`, roles: READ, status: 404 },
  { route: 'GET /jobs/{id}', target: `/jobs/${ID}?include=result`, roles: READ, status: 404 },
  { route: 'DELETE /jobs/{id}', target: `/jobs/${ID}`, roles: OPERATE, status: 404 },
  { route: 'POST /jobs/{id}/cancel', target: `/jobs/${ID}/cancel`, roles: OPERATE, status: 404 },
  { route: 'POST /jobs/{id}/redrive', target: `/jobs/${ID}/redrive`, roles: OPERATE, status: 404 },
  { route: 'POST /jobs/redrive', target: '/jobs/redrive', body: { kind: 'no.such' }, roles: OPERATE, status: 200 },
  { route: 'POST /queues/{name}/pause', target: '/queues/slow/pause', roles: OPERATE, status: 200 },
  { route: 'POST /queues/{name}/resume', target: '/queues/slow/resume', roles: OPERATE, status: 200 },
  { route: 'POST /kinds/{name}/pause', target: '/kinds/no.such/pause', roles: OPERATE, status: 200 },
  { route: 'POST /kinds/{name}/resume', target: '/kinds/no.such/resume', roles: OPERATE, status: 200 },
  { route: 'GET /schedules', target: '/schedules', roles: READ, status: 200 },
  { route: 'POST /schedules/{name}/pause', target: '/schedules/no.such/pause', roles: OPERATE, status: 404 },
  { route: 'POST /schedules/{name}/resume', target: '/schedules/no.such/resume', roles: OPERATE, status: 404 },
  { route: 'POST /schedules/{name}/fire', target: '/schedules/no.such/fire', roles: OPERATE, status: 404 },
  { route: 'GET /ready', target: '/ready', roles: SEE, status: 200 },
  { route: 'GET /metrics', target: '/metrics', roles: READ, status: 200 },
  { route: 'GET /openapi.json', target: '/openapi.json', roles: SEE, status: 200 },
  { route: 'GET /health', target: '/health', roles: SEE, status: 200 },
];
