import type { Operation } from './operations.ts';

/** Text as it is written here, in lines of 120 characters, with each paragraph in one. */
export function flowing(text: string): string {
  return text.replace(/([^\n])\n(?=[^\n])/g, '$1 ');
}

export const TAGS: Readonly<Record<Operation['tag'], string>> = {
  enqueue: 'Put jobs in.',
  read: 'See how they are.',
  operate: 'Intervene. Who did what is kept in `millrace.operator_log`, written by the same statement.',
  observe: 'For monitors and load balancers.',
};

export const about = flowing(`Jobs go in, workers process them; Postgres holds all of it.

**Times** are RFC 3339 in UTC, by the clock of the database. **Members** that are not described here may be added to answers;
in requests they are refused.

**Errors** are problems (RFC 9457): match on \`type\`, show \`detail\`, look at \`errors\` for each field. docs/problems.md lists
them. What the gateway itself says (401, 403, 413, 429, 500, 503) is \`{"message": …}\` in place of a problem.
A path that is not described here answers 404 \`no-such-route\`, another method 405 \`method-not-allowed\` with \`Allow\`.

**Sending again** is safe for every request but an enqueue without an idempotency key, and a fire by hand without an
\`X-Request-Id\` that stays the same. After 409 \`key-in-use\`, 429 and 503 do so, as \`Retry-After\` says where it is there.`);

export const TOKENS =
  flowing(`A token that \`npm run token -- create\` has shown. Each has a role: \`producer\` enqueues jobs and sees how they are,
\`reader\` sees payloads, results and metrics too but enqueues nothing, \`operator\` may do all. A security requirement
names the role that it takes. Under \`npm start\` no token is asked for, unless \`MILLRACE_AUTH=on\`.`);
