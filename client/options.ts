import { milliseconds } from './limit.ts';

export interface ClientOptions {
  /** Where the API is, with its stage or path prefix if it has one: `https://abc.execute-api.eu-west-1.amazonaws.com`. */
  readonly url: string | URL;
  /** Sent as `Authorization: Bearer …`. Printable ASCII without spaces. */
  readonly token?: string | undefined;
  /** Gets each request before it is sent, at every try anew, and gives back what is sent in its place: for SigV4. */
  readonly sign?: ((request: Request) => Request | Promise<Request>) | undefined;
  /** Default: the runtime's own. */
  readonly fetch?: Fetch | undefined;
  /** How often a call is tried again, 0 or more. Default 4. */
  readonly retries?: number | undefined;
  /** Seconds for a call with all of its tries and the waits between them, above 0 and at most 86,400. Default 60. */
  readonly timeoutSeconds?: number | undefined;
  /** Seconds until a try is given up, likewise. Default 20, in which the API answers or says that it cannot. */
  readonly tryTimeoutSeconds?: number | undefined;
}

export type Fetch = (request: Request, init?: RequestInit) => Promise<Response>;

/** What each method takes beside its own options. */
export interface CallOptions {
  /** Ends the call wherever it is, with the signal's reason. What was sent already may still happen. */
  readonly signal?: AbortSignal | undefined;
  /** In place of the client's, within the same bounds. */
  readonly timeoutSeconds?: number | undefined;
  /**
   * Finds the call in the API's logs, and the job with its attempts: 1 to 128 letters, digits and `. _ : / + = @ -`.
   * Default: a random one for each call.
   */
  readonly requestId?: string | undefined;
  /** W3C trace context: `00-<32 hex>-<16 hex>-01`. */
  readonly traceparent?: string | undefined;
}

export interface Settings {
  readonly base: string;
  readonly token: string | undefined;
  readonly sign: (request: Request) => Request | Promise<Request>;
  readonly fetch: Fetch;
  readonly retries: number;
  readonly timeoutMs: number;
  readonly tryTimeoutMs: number;
}

/** @throws TypeError or RangeError naming the option that cannot be used; never shows the token */
export function settingsOf(options: ClientOptions): Settings {
  const { token, retries = 4, timeoutSeconds = 60, tryTimeoutSeconds = 20 } = options;
  // fetch() would say so too, but show the token: in an error, and from there in a log.
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    throw new TypeError('token must be printable ASCII without spaces: leave out "Bearer" and any line end');
  }
  if (!Number.isInteger(retries) || retries < 0) throw new RangeError(`retries must be 0 or more, not ${retries}`);
  return {
    base: baseOf(options.url),
    token,
    sign: options.sign ?? ((request) => request),
    // Some runtimes refuse a fetch that is called as a method of another object, and tests replace the global one.
    fetch: options.fetch ?? ((request, init) => globalThis.fetch(request, init)),
    retries,
    timeoutMs: milliseconds('timeoutSeconds', timeoutSeconds),
    tryTimeoutMs: milliseconds('tryTimeoutSeconds', tryTimeoutSeconds),
  };
}

function baseOf(given: string | URL): string {
  const url = URL.canParse(String(given)) ? new URL(given) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !(url.username || url.password || url.search || url.hash);
  if (!isPlain) throw new TypeError('url must be an http(s) URL without credentials, query and fragment');
  return url.origin + url.pathname.replace(/\/+$/, '');
}
