import { ROLES, type Role } from '../../functions/lambda/role.ts';
import type { DocumentedAnswer, DocumentedOperation } from '../openapi/documented.ts';
import { type Case, NOWHERE } from './cases/case.ts';
import type { Request } from './ground.ts';

/** A request that fits the document, with its first body, about what is not there. */
export function sampleOf({ route, bodies }: DocumentedOperation): Request {
  const to = route.replace('{id}', NOWHERE).replace('{name}', 'nowhere');
  const [body] = Object.values(bodies);
  return { to, ...(body !== undefined && { body }) };
}

/** The case of what every route refuses alike; undefined for any other answer. */
export function refusal({ name, operation }: DocumentedAnswer): Case | undefined {
  const sample = sampleOf(operation);
  switch (name) {
    case 'no-token':
      return ({ send }) => send({ ...sample, as: null });
    case 'unknown-token':
      return ({ send }) => send({ ...sample, as: 'stranger' });
    case 'forbidden':
      return ({ send }) => send({ ...sample, as: refusedRoles(operation)[0] as Role });
    case 'gateway-too-large':
      return ({ send }) => send({ ...sample, announcedBytes: 10 * 1024 * 1024 + 1 });
    default:
      return undefined;
  }
}

export function refusedRoles({ roles }: DocumentedOperation): Role[] {
  return ROLES.filter((role) => !roles.includes(role));
}
