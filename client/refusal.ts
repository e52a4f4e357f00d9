import type { Failure } from './failure.ts';
import { clockSkewSeconds, retryAfterSeconds } from './retry-after.ts';

const PROBLEM = 'urn:millrace:problem:';
/** Signatures (SigV4) hold for five minutes. */
const SKEW_SECONDS = 300;
/** Characters that a message shows of an answer that it cannot read. */
const SHOWN = 100;

/** An answer that is no success: a problem of the API, or else of what stands in front of it. */
export function refusal(response: Response, text: string): Failure {
  const { status, headers } = response;
  const body = parsed(text);
  const common = {
    status,
    requestId: headers.get('x-request-id') ?? headers.get('apigw-requestid') ?? undefined,
    retryAfterSeconds: retryAfterSeconds(headers),
  };
  const passing = status === 429 || status === 502 || status === 503 || status === 504;
  if (!isObject(body) || typeof body.type !== 'string' || !body.type.startsWith(PROBLEM)) {
    // 500: the gateway's word for a function that died at work.
    return { ...common, ...withoutProblem(response, text), again: passing || status === 500 };
  }
  const code = body.type.slice(PROBLEM.length);
  return {
    ...common,
    code,
    detail: typeof body.detail === 'string' ? body.detail : String(body.title),
    errors: Array.isArray(body.errors) ? body.errors : undefined,
    problem: body,
    again: passing || code === 'key-in-use',
  };
}

function withoutProblem({ status, headers, type }: Response, text: string): Pick<Failure, 'code' | 'detail'> {
  const said = `It says ${JSON.stringify(text.slice(0, SHOWN))}.`;
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const to = headers.get('location') ?? 'elsewhere';
    return {
      code: 'redirected',
      detail: `It sends to ${to}, where credentials do not follow: give where the API is as url.`,
    };
  }
  if (status === 401) {
    return { code: 'unauthorized', detail: `No credentials came: give token, or sign for SigV4. ${said}` };
  }
  if (status === 403) {
    const hint = 'The token or signature is not known here, has expired, or may not do this.';
    return { code: 'forbidden', detail: `${hint} ${skewed(headers)}${said}` };
  }
  if (status === 429) return { code: 'throttled', detail: `Too many requests at once: send fewer. ${said}` };
  if (status >= 500)
    return { code: 'gateway-error', detail: `The API is not there at the moment: try again later. ${said}` };
  return { code: 'unexpected-answer', detail: `That is no answer of Millrace: is it what url points at? ${said}` };
}

function skewed(headers: Headers): string {
  const seconds = clockSkewSeconds(headers) ?? 0;
  if (Math.abs(seconds) < SKEW_SECONDS) return '';
  const by = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'}`;
  return `This machine's clock is ${by} the server's, and signatures need it within ${SKEW_SECONDS} s. `;
}

/** A success whose body is not what the call expects. Not tried again: whatever gave it would give the same. */
export function garbage({ status, headers }: Response, text: string): Failure {
  const type = headers.get('content-type') ?? 'no content type';
  const detail = `Expected Millrace's JSON, got ${type}: ${JSON.stringify(text.slice(0, SHOWN))}. Is it what url points at?`;
  return { code: 'unexpected-answer', status, detail, again: false };
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
