import type { HttpEvent } from './http.ts';
import { type ClaimedRoles, rolesIn } from './jwt-roles.ts';
import { ProblemError } from './problems.ts';
import { isRole, type Role } from './role.ts';

/** Who sent a request, and the role in which they may do what was asked. */
export interface Caller {
  /** Name of a token, ARN of an IAM principal, or subject (`sub`) of a JWT: for logs and the operators' log. */
  readonly name: string;
  readonly role: Role;
}

/** A caller may have several roles, where a JWT says so: their rights add up. */
interface Known {
  readonly name: string;
  readonly roles: readonly Role[];
}

/**
 * Who the gateway says it is. The token authorizer names a role, a JWT those of one claim; an IAM principal got this far by a
 * policy that names the route, so nothing is left to refuse. Whoever it is that nobody vouches for, a role that does not
 * exist included, is refused.
 * @throws ProblemError `forbidden`
 */
export function callerOf(event: HttpEvent): Omit<Caller, 'role'> {
  const { name } = known(event);
  return { name };
}

/** @throws ProblemError `forbidden` if the caller has none of these roles */
export function requireRole(event: HttpEvent, roles: readonly Role[]): Caller {
  const { name, roles: own } = known(event);
  const role = own.findLast((one) => roles.includes(one));
  if (role !== undefined) return { name, role };
  throw new ProblemError('forbidden', `It takes the role ${roles.join(' or ')}; this token has ${own.join(' and ')}.`);
}

/** Whether they may what these roles may. */
export function hasRole(event: HttpEvent, roles: readonly Role[]): boolean {
  return known(event).roles.some((role) => roles.includes(role));
}

function known(event: HttpEvent): Known {
  const { JWT_ROLE_CLAIM: claim } = process.env;
  const authorizer = authorizerOf(event);
  // Who deployed it named the claim: then JWTs count and nothing else, and without it none counts.
  const caller = (claim ? bearerOf(authorizer?.jwt, claim) : vouchedFor(authorizer)) ?? onThisMachine(authorizer);
  if (caller !== undefined) return caller;
  throw new ProblemError(
    'forbidden',
    'Nobody vouches for this request: the gateway did not say who sent it, or named a role that there is not.',
  );
}

function vouchedFor({ lambda, iam }: Authorizer = {}): Known | undefined {
  if (isRecord(lambda)) {
    const { name, role } = lambda;
    return typeof name === 'string' && name !== '' && isRole(role) ? { name, roles: [role] } : undefined;
  }
  if (isRecord(iam) && typeof iam.userArn === 'string' && iam.userArn !== '') {
    return { name: iam.userArn, roles: ['operator'] };
  }
  return undefined;
}

/** @throws ProblemError `forbidden` for a JWT that lacks a claim: whoever sent it can ask for one that has it */
function bearerOf(jwt: unknown, claim: string): Known | undefined {
  if (!isRecord(jwt) || !isRecord(jwt.claims)) return undefined;
  const { sub } = jwt.claims;
  const { roles, flaw }: ClaimedRoles = rolesIn(Object.hasOwn(jwt.claims, claim) ? jwt.claims[claim] : undefined);
  if (flaw !== undefined) throw new ProblemError('forbidden', `The claim "${claim}" of the JWT ${flaw}.`);
  // A NUL would be refused by the database, where the operators' log keeps the name.
  if (typeof sub === 'string' && /^[^\0]+$/.test(sub)) return { name: sub.toWellFormed(), roles };
  throw new ProblemError('forbidden', 'The JWT does not say whose it is: it has no claim "sub".');
}

/**
 * The local runtime, which listens on loopback alone, sets OPEN_ROLE. Lambda sets AWS_LAMBDA_RUNTIME_API and nobody can take
 * it away: in the cloud no setting, however it came there, opens the API.
 */
function onThisMachine(authorizer: Authorizer | undefined): Known | undefined {
  const { OPEN_ROLE: role, AWS_LAMBDA_RUNTIME_API } = process.env;
  if (AWS_LAMBDA_RUNTIME_API !== undefined || authorizer !== undefined) return undefined;
  return isRole(role) ? { name: 'local', roles: [role] } : undefined;
}

type Authorizer = Readonly<Record<string, unknown>>;

/** The types know it only for events of one kind of authorizer. */
function authorizerOf({ requestContext }: HttpEvent): Authorizer | undefined {
  const authorizer = (requestContext as { authorizer?: unknown } | undefined)?.authorizer;
  return isRecord(authorizer) ? authorizer : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
