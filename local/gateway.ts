import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GuardedRoute, Target } from './app.ts';
import { ask } from './authorizer.ts';
import { httpEvent, parseTarget } from './event.ts';
import type { Ending, LocalFunction } from './function.ts';
import { listen } from './listen.ts';
import { deferred } from './promise.ts';
import { readBody } from './read-body.ts';
import { type Answer, answerOf, gatewayAnswer } from './response.ts';
import { matchRoute } from './routes.ts';

/** What an HTTP API takes before it answers 413, and what a Lambda may return. */
const REQUEST_MAX_BYTES = 10 * 1024 * 1024;
const RESPONSE_MAX_BYTES = 6 * 1024 * 1024;
/** Bytes of request line and headers that an HTTP API accepts. */
const HEADERS_MAX_BYTES = 10_240;
/** Seconds after which a close cuts off what is not answered yet, such as a body that never ends. */
const CLOSE_SECONDS = 15;
/** Names under which this machine calls itself. Any other is somebody else's page steering a browser here. */
const OWN_NAMES = /^(localhost|[\w-]+\.localhost|127\.0\.0\.1|\[::1\]|host\.docker\.internal)(:\d+)?$/i;

export interface Gateway {
  /** `http://127.0.0.1:3000`. */
  readonly url: string;
  /** From now on requests are answered, by these routes; those that came before the first call have waited. */
  open(routes: readonly Target<GuardedRoute>[]): void;
  /** Takes no more requests and resolves once those under way are answered; `hurry` cuts them off. */
  close(): Promise<void>;
  hurry(): void;
}

export interface GatewayOptions {
  /** 0 picks a free one. */
  readonly port: number;
  readonly invoke: (fn: LocalFunction, event: unknown, requestId: string) => Promise<Ending>;
  readonly onAnswer: (request: IncomingMessage, status: number, durationMs: number, why?: string) => void;
}

/** An HTTP API on loopback, the way API Gateway serves it. @throws StartError `port_taken` */
export async function openGateway({ port, invoke, onAnswer }: GatewayOptions): Promise<Gateway> {
  const opened = deferred<void>();
  let routes: readonly Target<GuardedRoute>[] = [];
  const server = createServer(
    { maxHeaderSize: HEADERS_MAX_BYTES, keepAliveTimeout: 65_000 },
    async (request, response) => {
      const requestId = randomUUID();
      const began = performance.now();
      await opened.promise;
      const { answer, why } = await answerTo(request, requestId, routes, invoke).catch((error: unknown) => {
        return { answer: gatewayAnswer(500), why: String(error) };
      });
      if (response.destroyed) return;
      onAnswer(request, answer.status, performance.now() - began, why);
      if (!server.listening || !request.complete) response.shouldKeepAlive = false;
      send(response, answer, requestId);
    },
  );
  const url = await listen(server, port);
  return {
    url,
    open: (current) => {
      routes = current;
      opened.resolve();
    },
    close: async () => {
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_SECONDS * 1000);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(late);
    },
    hurry: () => server.closeAllConnections(),
  };
}

interface Handled {
  readonly answer: Answer;
  /** For the person at the terminal, when the gateway itself had to answer. */
  readonly why?: string;
}

async function answerTo(
  request: IncomingMessage,
  requestId: string,
  routes: readonly Target<GuardedRoute>[],
  invoke: GatewayOptions['invoke'],
): Promise<Handled> {
  const receivedAt = new Date();
  const stranger = strangerOf(request);
  if (stranger !== undefined) return { answer: gatewayAnswer(403), why: stranger };
  const target = parseTarget(request.url ?? '/');
  if (target === undefined) return { answer: gatewayAnswer(400) };
  const body = await readBody(request, REQUEST_MAX_BYTES);
  if (body === undefined) return { answer: gatewayAnswer(413) };
  const match = matchRoute(routes, request.method ?? 'GET', target.path);
  if (match === undefined) return { answer: gatewayAnswer(404) };
  const { route, pathParameters } = match;
  const received = httpEvent(request, { routeKey: route.key, ...target, pathParameters, body, requestId, receivedAt });
  const verdict = await ask(route.guard, request, received, (fn, asked) => invoke(fn, asked, requestId));
  if (verdict.kind === 'refused')
    return { answer: gatewayAnswer(verdict.status), ...(verdict.why !== undefined && { why: verdict.why }) };
  const { authorizer } = verdict;
  const event = authorizer ? { ...received, requestContext: { ...received.requestContext, authorizer } } : received;
  const waiting = new AbortController();
  const ending = await Promise.race([
    invoke(route.fn, event, requestId),
    sleep(route.timeoutMs, undefined, { signal: waiting.signal }),
  ]).finally(() => waiting.abort());
  if (ending === undefined)
    return {
      answer: gatewayAnswer(503),
      why: `${route.fn.name} took longer than the gateway's ${route.timeoutMs / 1000} s`,
    };
  return answerFrom(ending, route.fn);
}

/** Without a token, what keeps pages of others from using the API by a browser here is that it tells where they are from. */
function strangerOf({ headers: { host = '', origin } }: IncomingMessage): string | undefined {
  if (!OWN_NAMES.test(host)) return `it was for the host "${host}", not for localhost`;
  if (origin !== undefined && !OWN_NAMES.test(origin.replace(/^https?:\/\//, '')))
    return `it was sent by a page of "${origin}", not of localhost`;
  return undefined;
}

function answerFrom(ending: Ending, fn: LocalFunction): Handled {
  if (ending.kind === 'timed out')
    return { answer: gatewayAnswer(500), why: `${fn.name} was stopped at its timeout of ${fn.timeoutSeconds} s` };
  if (ending.kind === 'died') return { answer: gatewayAnswer(500), why: `${fn.name} ended: ${ending.how}` };
  if (ending.kind === 'threw')
    return { answer: gatewayAnswer(500), why: `${fn.name} threw ${ending.error.stack ?? ending.error.message}` };
  if (Buffer.byteLength(ending.json) > RESPONSE_MAX_BYTES)
    return { answer: gatewayAnswer(500), why: `${fn.name} returned more than 6 MB` };
  const answer = answerOf(ending.json);
  return answer
    ? { answer }
    : { answer: gatewayAnswer(500), why: `${fn.name} returned no valid response: ${ending.json.slice(0, 200)}` };
}

function send(response: ServerResponse, answer: Answer, requestId: string): void {
  response.writeHead(answer.status, {
    ...answer.headers,
    'content-length': answer.body.length,
    'apigw-requestid': requestId,
    ...(answer.cookies.length > 0 && { 'set-cookie': [...answer.cookies] }),
  });
  response.end(answer.body);
}
