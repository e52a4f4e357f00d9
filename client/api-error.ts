import type { ErrorCode } from './error-code.ts';
import type { Failure, Flaw } from './failure.ts';

/** The call that failed. */
export interface Tried {
  readonly method: string;
  readonly path: string;
  /** As it was sent. */
  readonly requestId: string;
  readonly tries: number;
}

/** Flaws that the message shows; all that came are in `errors`. */
const SHOWN = 5;

/**
 * Every failure of a call, whether the API refused it or no usable answer came; the message says what to do.
 * (An abort is none: it comes out as the signal's own reason. Nor are options that cannot be used: TypeError, RangeError.)
 */
export class ApiError extends Error {
  static override readonly name: string = 'ApiError';
  override readonly name = 'ApiError';
  /** `no-such-job`, `wrong-state`, `unreachable`, …: what to decide by. It stays, the words may change. */
  readonly code: ErrorCode;
  /** Of the answer; 0 if there was none. */
  readonly status: number;
  /** `urn:millrace:problem:…`; undefined if it was no problem of the API's own. */
  readonly type: string | undefined;
  readonly detail: string;
  readonly errors: readonly Flaw[];
  /** Finds the request in the API's logs. */
  readonly requestId: string;
  readonly tries: number;
  /** Seconds that the answer asks to wait. */
  readonly retryAfterSeconds: number | undefined;
  /** The problem as it came, with members of its own such as `job_status`. */
  readonly problem: Readonly<Record<string, unknown>> | undefined;

  constructor(failure: Failure, { method, path, requestId, tries }: Tried) {
    const { code, status, detail, errors = [], problem, cause } = failure;
    const flaws = errors.slice(0, SHOWN).map((flaw) => `${flaw.pointer || 'the whole'} ${flaw.detail}`);
    if (errors.length > SHOWN) flaws.push(`and ${errors.length - SHOWN} more`);
    const what = `${method} ${path}: ${status ? `${status} ` : ''}${code}: ${[detail, flaws.join('; ')].join(' ').trim()}`;
    const id = failure.requestId ?? requestId;
    super(`${what} (${tries > 1 ? `${tries} tries, ` : ''}request ${id})`, cause === undefined ? {} : { cause });
    this.code = code;
    this.status = status ?? 0;
    this.type = problem?.type as string | undefined;
    this.detail = detail;
    this.errors = errors;
    this.requestId = id;
    this.tries = tries;
    this.retryAfterSeconds = failure.retryAfterSeconds;
    this.problem = problem;
  }
}
