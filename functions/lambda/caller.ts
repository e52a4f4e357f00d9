import type { HttpEvent } from './http.ts';
import { ProblemError } from './problems.ts';
import { isRole, type Role } from './role.ts';

/** Who sent a request: the name of a token or the ARN of an IAM principal, and what they may do. */
export interface Caller {
  readonly name: string;
  readonly role: Role;
}

/**
 * Who the gateway says it is. The token authorizer names a role; an IAM principal got this far by a policy that names the
 * route, so nothing is left to refuse. Whoever it is that nobody vouches for, a role that does not exist included, is refused.
 * @throws ProblemError `forbidden`
 */
export function callerOf(event: HttpEvent): Caller {
  const caller = vouchedFor(event) ?? onThisMachine(event);
  if (caller !== undefined) return caller;
  throw new ProblemError('forbidden', 'Nobody vouches for this request: it came without a token that is known.');
}

/** @throws ProblemError `forbidden` if the caller has none of these roles */
export function requireRole(event: HttpEvent, roles: readonly Role[]): Caller {
  const caller = callerOf(event);
  if (roles.includes(caller.role)) return caller;
  throw new ProblemError('forbidden', `It takes the role ${roles.join(' or ')}; this token has ${caller.role}.`);
}

function vouchedFor(event: HttpEvent): Caller | undefined {
  const { lambda, iam } = authorizerOf(event) ?? {};
  if (isRecord(lambda)) {
    const { name, role } = lambda;
    return typeof name === 'string' && name !== '' && isRole(role) ? { name, role } : undefined;
  }
  if (isRecord(iam) && typeof iam.userArn === 'string' && iam.userArn !== '') {
    return { name: iam.userArn, role: 'operator' };
  }
  return undefined;
}

/**
 * The local runtime, which listens on loopback alone, sets OPEN_ROLE. Lambda sets AWS_LAMBDA_RUNTIME_API and nobody can take
 * it away: in the cloud no setting, however it came there, opens the API.
 */
function onThisMachine(event: HttpEvent): Caller | undefined {
  const { OPEN_ROLE: role, AWS_LAMBDA_RUNTIME_API } = process.env;
  if (AWS_LAMBDA_RUNTIME_API !== undefined || authorizerOf(event) !== undefined) return undefined;
  return isRole(role) ? { name: 'local', role } : undefined;
}

/** The types know it only for events of one kind of authorizer. */
function authorizerOf({ requestContext }: HttpEvent): Readonly<Record<string, unknown>> | undefined {
  const authorizer = (requestContext as { authorizer?: unknown } | undefined)?.authorizer;
  return isRecord(authorizer) ? authorizer : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
