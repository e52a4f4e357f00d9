import type { HttpEvent } from './http.ts';
import { ProblemError } from './problems.ts';

/** Every path of the API with its methods, for those who ask another way. The stack's routes are the same (a test says so). */
export const ROUTES: Readonly<Record<string, readonly string[]>> = {
  '/jobs': ['GET', 'POST'],
  '/jobs/{id}': ['GET'],
  '/jobs/{id}/cancel': ['POST'],
  '/jobs/{id}/redrive': ['POST'],
  '/health': ['GET'],
  '/ready': ['GET'],
  '/metrics': ['GET'],
};

/** What to say where no route took the request: the path takes other methods, or there is no such path. */
export function noRoute(event: HttpEvent): ProblemError {
  const { method } = event.requestContext.http;
  const [, methods] = Object.entries(ROUTES).find(([route]) => matches(route, event.rawPath)) ?? [];
  if (methods === undefined) {
    return new ProblemError('no-such-route', `The paths are ${Object.keys(ROUTES).join(', ')}.`);
  }
  const allow = methods.join(', ');
  return new ProblemError('method-not-allowed', `It takes ${allow}, not ${method}.`, { headers: { allow } });
}

function matches(route: string, path: string): boolean {
  const steps = route.split('/');
  const given = path.split('/');
  return (
    steps.length === given.length &&
    steps.every((step, at) => (step === '{id}' ? given[at] !== '' : step === given[at]))
  );
}
