/** A route of an HTTP API: `GET /jobs/{id}`, `ANY /files/{path+}` or `$default`. */
export interface Route {
  readonly key: string;
  /** `ANY` fits every method, as does `$default`. */
  readonly method: string;
  readonly segments: readonly string[];
  /** Milliseconds the gateway waits for the function. */
  readonly timeoutMs: number;
}

export interface Match<R extends Route> {
  readonly route: R;
  readonly pathParameters: Readonly<Record<string, string>>;
}

export function routeOf(key: string, timeoutMs: number): Route {
  if (key === '$default') return { key, method: 'ANY', segments: ['$default'], timeoutMs };
  const [method = 'ANY', path = '/'] = key.split(' ');
  return { key, method, segments: path.split('/').slice(1), timeoutMs };
}

/**
 * The route for a request as API Gateway picks it: the most specific path first (literal before `{name}` before `{name+}`,
 * segment by segment), there a named method before ANY, and `$default` when nothing else fits.
 * `path` is decoded: the gateway decodes before it matches, so an encoded slash divides segments too.
 */
export function matchRoute<R extends Route>(routes: readonly R[], method: string, path: string): Match<R> | undefined {
  const segments = path.split('/').slice(1);
  return routes
    .filter((route) => route.method === method || route.method === 'ANY')
    .flatMap((route) => {
      const pathParameters = parametersOf(route, segments);
      return pathParameters === undefined ? [] : [{ route, pathParameters }];
    })
    .sort((a, b) => compareRank(rank(a.route), rank(b.route)))
    .at(0);
}

function parametersOf(route: Route, segments: readonly string[]): Record<string, string> | undefined {
  if (route.key === '$default') return {};
  const parameters: Record<string, string> = {};
  for (const [at, part] of route.segments.entries()) {
    const segment = segments[at];
    const [, name, greedy] = /^\{([^+}]+)(\+?)\}$/.exec(part) ?? [];
    if (segment === undefined || (name !== undefined && segment === '')) return undefined;
    if (name !== undefined && greedy === '+') return { ...parameters, [name]: segments.slice(at).join('/') };
    if (name !== undefined) parameters[name] = segment;
    else if (part !== segment) return undefined;
  }
  return segments.length === route.segments.length ? parameters : undefined;
}

/** Lower sorts first. */
function rank(route: Route): number[] {
  if (route.key === '$default') return [3];
  const places = route.segments.map((part) => (part.endsWith('+}') ? 2 : part.startsWith('{') ? 1 : 0));
  return [...places, route.method === 'ANY' ? 1 : 0];
}

function compareRank(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
