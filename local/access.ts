import type { GuardedRoute, LocalApp } from './app.ts';

/** Whoever reaches the loopback may do everything. */
export function opened(app: LocalApp): LocalApp {
  return { ...app, routes: app.routes.map((route) => ({ ...route, guard: { kind: 'none' } as const })) };
}

/** Why requests get nowhere though the API is up. */
export function closedNotes(routes: readonly GuardedRoute[]): string[] {
  const reasons = routes.flatMap(({ guard }) => (guard.kind === 'closed' ? [guard.why] : []));
  return [...new Set(reasons)].map((why) => {
    const closed = reasons.filter((reason) => reason === why).length;
    return `MILLRACE_AUTH=on: ${closed} of ${routes.length} routes answer 403 to everybody, since ${why}.`;
  });
}
