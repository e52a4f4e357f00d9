import { traceIdOf } from '../queue/trace.ts';

/** Of an event: a request's, or the one that asks the authorizer about it. */
interface Identified {
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly requestContext?: { readonly requestId: string };
}

/** No spaces, quotes or control characters: it goes into headers, logs and shells. */
export const REQUEST_ID = /^[A-Za-z0-9._:/+=@-]{1,128}$/;

/** The id that finds a request in answers, logs and the job: the caller's `X-Request-Id` if it is usable, else the gateway's. */
export function requestIdOf(event: Identified): string {
  const given = event.headers?.['x-request-id'];
  return given !== undefined && REQUEST_ID.test(given) ? given : gatewayRequestIdOf(event);
}

/** The gateway's own id, which its access log has. */
export function gatewayRequestIdOf(event: Identified): string {
  return event.requestContext?.requestId ?? 'none';
}

/** Characters of a traceparent of version 00; those to come may append fields, of which so many characters are kept. */
const VERSION_00_LENGTH = 55;
const TRACEPARENT_MAX = 255;

/** The caller's W3C trace context; undefined if there is none that is valid. */
export function traceparentOf(event: Identified): string | undefined {
  const given = event.headers?.traceparent?.trim() ?? '';
  const fits = given.startsWith('00-') ? given.length === VERSION_00_LENGTH : given.length <= TRACEPARENT_MAX;
  return fits && traceIdOf(given) !== undefined ? given : undefined;
}
