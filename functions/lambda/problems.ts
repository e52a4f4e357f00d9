import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { MillraceError } from '../queue/errors.ts';
import type { Flaw } from '../queue/flaws.ts';

export interface Problem {
  readonly status: number;
  readonly title: string;
  /** Seconds after which a client may try again what this kept it from; absent: the same request fails again. */
  readonly retryAfterSeconds?: number;
}

/**
 * Every problem that the API answers with (RFC 9457): its name ends the `type`, and stays; details are for people.
 * docs/problems.md says of each what to do.
 */
export const PROBLEMS = {
  'not-json': { status: 400, title: 'The body is not JSON' },
  'invalid-id': { status: 400, title: 'The id is not a UUID' },
  'invalid-name': { status: 400, title: 'The name cannot be that of a queue, kind or schedule' },
  'invalid-query': { status: 400, title: 'The query cannot be used' },
  'invalid-cursor': { status: 400, title: 'The cursor cannot be used' },
  forbidden: { status: 403, title: 'The role does not allow this' },
  'no-such-route': { status: 404, title: 'There is nothing at this path' },
  'no-such-job': { status: 404, title: 'There is no such job' },
  'no-such-schedule': { status: 404, title: 'There is no such schedule' },
  'method-not-allowed': { status: 405, title: 'The path does not take this method' },
  'wrong-state': { status: 409, title: 'The job is in another state' },
  'key-in-use': { status: 409, title: 'Another request with this key is under way', retryAfterSeconds: 1 },
  'unique-key-taken': { status: 409, title: 'A job with the same unique key is pending' },
  'schedule-overlap': { status: 409, title: 'A job of the schedule has not ended' },
  'too-large': { status: 413, title: 'It is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be JSON' },
  'invalid-job': { status: 422, title: 'The job is not valid' },
  'unknown-kind': { status: 422, title: 'The kind is not known' },
  'unstorable-value': { status: 422, title: 'A value cannot be kept as it is' },
  'invalid-filter': { status: 422, title: 'The filter cannot be used' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another job' },
  'internal-error': { status: 500, title: 'Something is wrong on this side' },
  'database-unavailable': {
    status: 503,
    title: 'The database cannot be used at the moment',
    retryAfterSeconds: 2,
  },
  'schema-outdated': { status: 503, title: 'The database schema is too old', retryAfterSeconds: 2 },
  timeout: { status: 503, title: 'It took too long', retryAfterSeconds: 2 },
} as const satisfies Record<string, Problem>;

export type ProblemName = keyof typeof PROBLEMS;

interface ProblemOptions extends ErrorOptions {
  readonly flaws?: readonly Flaw[] | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the answer. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** A request that is answered with a problem. The message is its `detail`: what was expected, what came, what to do. */
export class ProblemError extends MillraceError {
  static override readonly name: string = 'ProblemError';
  readonly code: ProblemName;
  readonly options: ProblemOptions;
  constructor(code: ProblemName, detail: string, options: ProblemOptions = {}) {
    super(detail, options);
    this.code = code;
    this.options = options;
  }
}

export function problemAnswer(
  { code, message, options }: ProblemError,
  requestId: string,
): APIGatewayProxyStructuredResultV2 {
  const { status, title, retryAfterSeconds }: Problem = PROBLEMS[code];
  return {
    statusCode: status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...options.headers,
    },
    body: JSON.stringify(
      {
        type: `urn:millrace:problem:${code}`,
        title,
        status,
        detail: message,
        request_id: requestId,
        ...options.members,
        ...(options.flaws && { errors: options.flaws }),
      },
      wellFormed,
    ),
  };
}

/** A pointer, or what a detail quotes, may hold half of a surrogate pair: strict readers of JSON refuse the whole answer. */
function wellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
