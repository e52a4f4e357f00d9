import { validateHeaderName, validateHeaderValue } from 'node:http';
import * as z from 'zod';

/** What goes out to the client. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
  readonly body: Buffer;
}

const HeaderValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const Structured = z.looseObject({
  statusCode: z.coerce.number().int().min(100).max(599),
  headers: z.record(z.string(), HeaderValue).nullish(),
  cookies: z.array(z.string()).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
});

/**
 * Reads what a function returned, in response format 2.0. An object with a `statusCode` is the response; anything else is
 * inferred as the body of a 200 in JSON. Undefined: the gateway cannot make a response of it, which is a 500.
 */
export function answerOf(json: string): Answer | undefined {
  const value: unknown = JSON.parse(json);
  if (typeof value !== 'object' || value === null || !('statusCode' in value)) {
    return jsonAnswer(200, typeof value === 'string' ? value : json);
  }
  const { data } = Structured.safeParse(value);
  if (data === undefined) return undefined;
  const headers = Object.entries(data.headers ?? {}).map(([name, text]) => [name.toLowerCase(), text] as const);
  if (!sendable([...headers, ...(data.cookies ?? []).map((cookie) => ['set-cookie', cookie] as const)]))
    return undefined;
  return {
    status: data.statusCode,
    headers: { 'content-type': 'text/plain;charset=UTF-8', ...Object.fromEntries(headers) },
    cookies: data.cookies ?? [],
    body: Buffer.from(data.body ?? '', data.isBase64Encoded ? 'base64' : 'utf8'),
  };
}

/** What the gateway says of its own accord: always `{"message": …}`, it cannot be restyled. */
export function gatewayAnswer(status: keyof typeof MESSAGES): Answer {
  return jsonAnswer(status, JSON.stringify({ message: MESSAGES[status] }));
}

const MESSAGES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  413: 'Request Entity Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

function jsonAnswer(status: number, body: string): Answer {
  return { status, headers: { 'content-type': 'application/json' }, cookies: [], body: Buffer.from(body) };
}

function sendable(headers: readonly (readonly [name: string, value: string])[]): boolean {
  try {
    for (const [name, value] of headers) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    return true;
  } catch {
    return false;
  }
}
