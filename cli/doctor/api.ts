import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Parsed if it is a JSON object, else empty. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly milliseconds: number;
}

/** There was no answer. The message says why, and shows no token. */
export class NoAnswerError extends Error {
  static override readonly name: string = 'NoAnswerError';
}

/** Milliseconds. What the API answers at all it answers sooner, cold starts and the connect to its database included. */
const TIMEOUT_MS = 15_000;
/** Far more than the metrics of many kinds; what answers with more is something else, and is not read to its end. */
const ANSWER_BYTES = 8 * 1024 * 1024;

export interface Probe {
  /** Sent as bearer token. Default that of the caller; null: none. */
  readonly token?: string | null;
  readonly body?: object;
}

/** Requests as they are, one try each: what the client would mend or hide is what is looked for here. */
export class Api {
  readonly url: URL;
  readonly hasToken: boolean;
  readonly #token: string | undefined;
  // Said outright, since NODE_TLS_REJECT_UNAUTHORIZED=0 changes what is not said: a token goes to nobody unknown.
  readonly #https = new HttpsAgent({ keepAlive: true, rejectUnauthorized: true });
  readonly #http = new HttpAgent({ keepAlive: true });

  readonly #stop: AbortSignal | undefined;

  /** `stop`: when it aborts, nothing is waited for any more. */
  constructor(url: URL, token: string | undefined, stop?: AbortSignal) {
    this.url = url;
    this.#stop = stop;
    this.hasToken = token !== undefined;
    this.#token = token;
  }

  /** @throws NoAnswerError */
  async send(method: 'GET' | 'POST', path: string, { token = this.#token ?? null, body }: Probe = {}): Promise<Answer> {
    const began = performance.now();
    const headers = {
      accept: 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
    };
    const {
      status,
      headers: given,
      text,
    } = await this.#exchange(path, { method, headers }, body && JSON.stringify(body));
    return { status, headers: given, text, body: objectOf(text), milliseconds: Math.round(performance.now() - began) };
  }

  close(): void {
    this.#https.destroy();
    this.#http.destroy();
  }

  #exchange(path: string, options: { method: string; headers: Record<string, string> }, body: string | undefined) {
    const target = this.url.origin + this.url.pathname.replace(/\/+$/, '') + path;
    const signal = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(this.#stop ? [this.#stop] : [])]);
    return new Promise<Omit<Answer, 'body' | 'milliseconds'>>((resolve, reject) => {
      const give = (error: unknown) => reject(noAnswer(signal.aborted ? signal.reason : error, this.url));
      const isSecure = this.url.protocol === 'https:';
      const all = { ...options, signal, agent: isSecure ? this.#https : this.#http };
      const request = (isSecure ? httpsRequest : httpRequest)(target, all, (response) => {
        textOf(response).then(
          (text) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
          give,
        );
      });
      request.once('error', give);
      request.end(body);
    });
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES) throw new Error('it answers with more than 8 MiB, and was not read on');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'it hangs up',
  EHOSTUNREACH: 'no way leads there',
  ENETUNREACH: 'no way leads there',
  ABORT_ERR: `no answer within ${TIMEOUT_MS / 1000} s`,
  EPROTO: 'what answers there speaks no TLS',
};

function noAnswer(error: unknown, { host }: URL): NoAnswerError {
  const { code, name, message } = error as { code?: string; name?: string; message?: string };
  const key = name === 'TimeoutError' ? 'ABORT_ERR' : String(code);
  return new NoAnswerError(`${host}: ${REASONS[key] ?? (message || key)}`, { cause: error });
}
