import type { CallOptions, Settings } from './options.ts';

/** One call of the API, before it is sent. */
export interface Call<T> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Of `pathOf`, so that no id or name can lead to another route. */
  readonly path: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: object;
  /** Seconds by which the answer may come later than others. */
  readonly holdSeconds?: number;
  /** In place of the client's setting. */
  readonly retries?: number;
  /** The answer is no JSON, and `read` gets its text. */
  readonly isText?: true;
  /** Takes from the answer what the caller gets. Throws if it is not there. */
  readonly read: (body: never, headers: Headers) => T;
}

/** Characters that the API takes for a request id; it would replace any other by one of its own. */
const REQUEST_ID = /^[\w.:/+=@-]{1,128}$/;

/** All that is the same at every try: so the API knows a try for a repetition. @throws TypeError for an unusable request id */
export function prepare(
  settings: Settings,
  call: Call<unknown>,
  options: CallOptions,
): { requestId: string; build: () => Request } {
  const { requestId = crypto.randomUUID(), traceparent } = options;
  if (!REQUEST_ID.test(requestId)) throw new TypeError(`requestId must match ${REQUEST_ID.source}`);
  const headers: Record<string, string> = {
    accept: call.isText ? 'text/plain' : 'application/json',
    'x-request-id': requestId,
  };
  if (traceparent !== undefined) headers.traceparent = traceparent;
  if (settings.token !== undefined) headers.authorization = `Bearer ${settings.token}`;
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  const init = { method: call.method, headers, body: call.body === undefined ? null : JSON.stringify(call.body) };
  const url = settings.base + call.path + queryText(call.query);
  return { requestId, build: () => new Request(url, init) };
}

/** `+` for a space, as URLSearchParams writes it, breaks signatures. */
function queryText(query: Call<unknown>['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  if (pairs.length === 0) return '';
  return `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&')}`;
}

/** `/jobs/{id}/cancel`. @throws TypeError for what would make another path of it, such as '' and '..' */
export function pathOf(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw(
    { raw: parts },
    ...values.map((value) => {
      if (typeof value === 'string' && /[^.]/.test(value)) return encodeURIComponent(value);
      throw new TypeError(`expected an id or a name, got ${JSON.stringify(value)}`);
    }),
  );
}
