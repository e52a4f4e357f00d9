import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import type { Log } from '../queue/context.ts';
import { createLog } from './log.ts';
import { PROBLEMS, ProblemError, problemAnswer } from './problems.ts';

export type HttpEvent = APIGatewayProxyEventV2;
export type HttpAnswer = APIGatewayProxyStructuredResultV2;
export type HttpHandler = (event: HttpEvent, context: Context) => Promise<HttpAnswer>;

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

/** Makes a handler of what answers a request: problems become problem+json, and each request one line of log. */
export function http(options: HttpOptions, answer: (event: HttpEvent) => Promise<HttpAnswer>): HttpHandler {
  const late = () => {
    options.onTimeout?.();
    throw new ProblemError(
      'timeout',
      'The request was given up before it was done; what it asked for may still happen.',
    );
  };
  return middy<HttpEvent, HttpAnswer>({ timeoutEarlyInMillis: ANSWER_EARLY_MS, timeoutEarlyResponse: late })
    .use(requestLine(options.name))
    .use(problems(options))
    .handler((event: HttpEvent) => answer(event)) as HttpHandler;
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

function problems({ name, problemOf }: HttpOptions): MiddlewareObj<HttpEvent, HttpAnswer> {
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

/** Registered before `problems`, so that on an error it runs after it and sees its answer. */
function requestLine(name: string): Timed {
  const line: Timed['after'] = ({ event, response, internal }) =>
    logOf(name, event).info('request', {
      method: event.requestContext?.http?.method,
      route: event.routeKey,
      status: response?.statusCode,
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

type Timed = MiddlewareObj<HttpEvent, HttpAnswer, Error, Context, { startedAt: number }>;

function logOf(name: string, event: HttpEvent): Log {
  return createLog({ function: name, request_id: requestIdOf(event) });
}

function requestIdOf(event: HttpEvent): string {
  return event.requestContext?.requestId ?? 'none';
}
