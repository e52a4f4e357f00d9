import type { HttpEvent } from './http.ts';
import { ProblemError } from './problems.ts';
import { ROLES, type Role } from './role.ts';

export interface RouteRule {
  /** Who may use it. */
  readonly roles: readonly Role[];
  /** Answers everybody, whether the gateway knows them or not. */
  readonly public?: true;
}

const ENQUEUE: RouteRule = { roles: ['producer', 'operator'] };
const STATUS: RouteRule = { roles: ROLES };
const READ: RouteRule = { roles: ['reader', 'operator'] };
const OPERATE: RouteRule = { roles: ['operator'] };

/** Every route of the API. Roles, the answers 404 and 405, the stack's routes and the document follow it (tests say so). */
export const ROUTES = {
  'POST /jobs': ENQUEUE,
  'POST /jobs/batch': ENQUEUE,
  'GET /jobs': STATUS,
  'GET /jobs/{id}': STATUS,
  'DELETE /jobs/{id}': OPERATE,
  'POST /jobs/{id}/cancel': OPERATE,
  'POST /jobs/{id}/redrive': OPERATE,
  'POST /jobs/redrive': OPERATE,
  'POST /queues/{name}/pause': OPERATE,
  'POST /queues/{name}/resume': OPERATE,
  'POST /kinds/{name}/pause': OPERATE,
  'POST /kinds/{name}/resume': OPERATE,
  'GET /schedules': READ,
  'POST /schedules/{name}/pause': OPERATE,
  'POST /schedules/{name}/resume': OPERATE,
  'POST /schedules/{name}/fire': OPERATE,
  'GET /health': { roles: ROLES, public: true },
  'GET /ready': STATUS,
  'GET /metrics': READ,
  'GET /openapi.json': STATUS,
} as const satisfies Readonly<Record<string, RouteRule>>;

export type RouteKey = keyof typeof ROUTES;

/** Who may see payloads and results (`?include=`). */
export const CONTENT_ROLES: readonly Role[] = ['reader', 'operator'];

/** The rule of an event's route: where no route fits, everybody who is known gets the 404. A route that is not listed is closed. */
export function ruleOf({ routeKey }: HttpEvent): RouteRule {
  if (routeKey === '$default') return STATUS;
  return Object.hasOwn(ROUTES, routeKey) ? ROUTES[routeKey as RouteKey] : { roles: [] };
}

/** What to say where no route took the request: the path takes other methods, or there is no such path. */
export function noRoute(event: HttpEvent): ProblemError {
  const { method } = event.requestContext.http;
  const routes = Object.keys(ROUTES).map((key) => key.split(' ') as [method: string, path: string]);
  // More than one path may fit: /jobs/batch is also a /jobs/{id}.
  const fitting = routes.filter(([, path]) => matches(path, event.rawPath));
  if (fitting.length === 0) {
    const paths = [...new Set(routes.map(([, path]) => path))];
    const bare = event.rawPath.replace(/\/+$/, '');
    const hint = paths.some((path) => matches(path, bare)) ? ' Leave out the slash at the end.' : '';
    return new ProblemError('no-such-route', `The paths are ${paths.join(', ')}.${hint}`);
  }
  const allow = [...new Set(fitting.map(([own]) => own))].sort().join(', ');
  return new ProblemError('method-not-allowed', `It takes ${allow}, not ${method}.`, { headers: { allow } });
}

function matches(route: string, path: string): boolean {
  const steps = route.split('/');
  const given = path.split('/');
  return (
    steps.length === given.length &&
    steps.every((step, at) => (step.startsWith('{') ? given[at] !== '' : step === given[at]))
  );
}
