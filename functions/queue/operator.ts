/** Who intervenes, as operator_log names them. Without one it is the session's user, and a resend is not recognised. */
export interface Operator {
  /** Name of the token, or ARN of the principal. */
  readonly actor: string;
  /** Of the request. The same action on the same target under the same id is answered as the first time for ten minutes. */
  readonly requestId: string;
}
