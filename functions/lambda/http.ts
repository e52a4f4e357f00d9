import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import middy, { type MiddlewareObj } from '#middy';
import type { Log } from '../queue/context.ts';
import { traceIdOf } from '../queue/trace.ts';
import { type Caller, requireRole } from './caller.ts';
import { createLog } from './log.ts';
import { PROBLEMS, ProblemError, problemAnswer } from './problems.ts';
import { gatewayRequestIdOf, requestIdOf, traceparentOf } from './request-id.ts';
import { ruleOf } from './routes.ts';

export type HttpEvent = APIGatewayProxyEventV2;
export type HttpAnswer = APIGatewayProxyStructuredResultV2;
export type HttpHandler = (event: HttpEvent, context: Context) => Promise<HttpAnswer>;

/** What an answer may need to know beside the event. */
export interface Invocation {
  readonly context: Context;
  /** Aborts when the request was answered without waiting any longer. */
  readonly signal: AbortSignal;
}

interface HttpOptions {
  /** Name of the function in the log. */
  readonly name: string;
  /** The problem that a thrown error stands for; undefined is a 500. ProblemErrors stand for themselves. */
  readonly problemOf?: (error: unknown) => ProblemError | undefined;
  /** Lets go of what the request still holds when its time is up. */
  readonly onTimeout?: () => void;
}

/** Milliseconds before the function's timeout at which it answers 503 itself: else the gateway says a bare 500. */
const ANSWER_EARLY_MS = 1000;

/**
 * Makes a handler of what answers a request: it is asked only if the caller's role may use the route, problems become
 * problem+json, every answer carries the request's id, and each request is one line of log.
 */
export function http(
  options: HttpOptions,
  answer: (event: HttpEvent, invocation: Invocation) => Promise<HttpAnswer>,
): HttpHandler {
  const late = () => {
    options.onTimeout?.();
    throw new ProblemError(
      'timeout',
      'The request was given up before it was done; what it asked for may still happen.',
    );
  };
  return middy<HttpEvent, HttpAnswer>({ timeoutEarlyInMillis: ANSWER_EARLY_MS, timeoutEarlyResponse: late })
    .use(requestLine(options.name))
    .use(requestIds)
    .use(problems(options))
    .use(roles)
    .handler((event: HttpEvent, context: Context, { signal }: { signal: AbortSignal }) =>
      answer(event, { context, signal }),
    ) as HttpHandler;
}

export function json(statusCode: number, body: unknown, headers: Record<string, string> = {}): HttpAnswer {
  return jsonText(statusCode, JSON.stringify(body), headers);
}

export function jsonText(statusCode: number, body: string, headers: Record<string, string> = {}): HttpAnswer {
  return {
    statusCode,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body,
  };
}

type Step = MiddlewareObj<HttpEvent, HttpAnswer, Error, Context, { startedAt: number; caller?: Caller }>;

/** The gateway has checked who it is; what they may do is checked here, so that no setting of a gateway can leave it out. */
const roles: Step = {
  before: ({ event, internal }) => {
    const rule = ruleOf(event);
    if (rule.public !== true) internal.caller = requireRole(event, rule.roles);
  },
};

function problems({ name, problemOf }: HttpOptions): Step {
  return {
    onError: (request) => {
      const { error, event } = request;
      const problem = error instanceof ProblemError ? error : (problemOf?.(error) ?? unexpected(error));
      if (PROBLEMS[problem.code].status >= 500) {
        logOf(name, event).error(problem.message, { problem: problem.code, error: problem.cause });
      }
      request.response = problemAnswer(problem, requestIdOf(event));
    },
  };
}

function unexpected(error: unknown): ProblemError {
  const detail = 'It was logged under this request_id; nothing about the request is wrong.';
  return new ProblemError('internal-error', detail, { cause: error });
}

const answeredWithId: Step['after'] = (request) => {
  const { response, event } = request;
  if (response)
    request.response = { ...response, headers: { ...response.headers, 'x-request-id': requestIdOf(event) } };
};
/** Like `requestLine` registered before `problems`, so that on an error they run after it and see its answer. */
const requestIds: Step = { after: answeredWithId, onError: answeredWithId };

function requestLine(name: string): Step {
  const line: Step['after'] = ({ event, response, internal }) =>
    logOf(name, event).info('request', {
      method: event.requestContext?.http?.method,
      route: event.routeKey,
      caller: internal.caller?.name,
      status: response?.statusCode,
      job_id: jobIn(response),
      duration_ms: Math.round(performance.now() - internal.startedAt),
    });
  return {
    before: ({ internal }) => {
      internal.startedAt = performance.now();
    },
    after: line,
    onError: line,
  };
}

/** The job that an answer leads to. */
function jobIn(response: HttpAnswer | null | undefined): string | undefined {
  return /^\/jobs\/([^/]+)$/.exec(String(response?.headers?.location ?? ''))?.[1];
}

/** What is logged of a request by the function of that name is found by the ids of the request. */
export function logOf(name: string, event: HttpEvent): Log {
  const [id, gatewayId] = [requestIdOf(event), gatewayRequestIdOf(event)];
  return createLog({
    function: name,
    request_id: id,
    // What the gateway's access log calls it.
    gateway_request_id: gatewayId === id ? undefined : gatewayId,
    trace_id: traceIdOf(traceparentOf(event)),
  });
}
