/** Names of the problems that the API answers with; docs/problems.md says of each what to do. */
export type ProblemCode =
  | 'not-json'
  | 'invalid-id'
  | 'invalid-name'
  | 'invalid-query'
  | 'invalid-cursor'
  | 'forbidden'
  | 'no-such-route'
  | 'no-such-job'
  | 'no-such-schedule'
  | 'method-not-allowed'
  | 'wrong-state'
  | 'key-in-use'
  | 'unique-key-taken'
  | 'schedule-overlap'
  | 'too-large'
  | 'unsupported-media-type'
  | 'invalid-job'
  | 'unknown-kind'
  | 'unstorable-value'
  | 'invalid-filter'
  | 'idempotency-key-reused'
  | 'internal-error'
  | 'database-unavailable'
  | 'schema-outdated'
  | 'timeout';

/** What else can go wrong, on the way there or back. */
export type TransportCode =
  /** No connection, or it was cut before the answer was whole. */
  | 'unreachable'
  /** No answer in the time that the call had; of `waitFor`: the job did not end in it. */
  | 'timed-out'
  /** Something in front of the API sends elsewhere: `url` is not where it is. */
  | 'redirected'
  /** No token and no signature came. */
  | 'unauthorized'
  /** The token or signature is not known, or does not allow this. */
  | 'forbidden'
  /** The gateway takes no more requests at the moment. */
  | 'throttled'
  /** The gateway, or something else in front of the API, answered in its place. */
  | 'gateway-error'
  /** A success that is none of the API's. */
  | 'unexpected-answer';

/** Problems that a newer API may have count as text. */
export type ErrorCode = ProblemCode | TransportCode | (string & {});
