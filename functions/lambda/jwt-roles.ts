import { isRole, ROLES, type Role } from './role.ts';

/** The roles that a claim names, from the least to the most; or what is wrong with it. */
export type ClaimedRoles =
  | { readonly roles: readonly Role[]; readonly flaw?: undefined }
  | { readonly roles?: undefined; readonly flaw: string };

/**
 * Reads the roles in a claim as HTTP APIs hand it over: all values are text there, and a list arrives as `[producer reader]`.
 * Words that are no roles are passed over, since such claims list groups of other systems too. A list is torn at its spaces,
 * so a group named `my operator` would read as `operator`: the claim must be one whose words the issuer alone chooses.
 */
export function rolesIn(claim: unknown): ClaimedRoles {
  if (claim === undefined) return { flaw: 'is not there: it must name producer, reader or operator' };
  const named = wordsOf(claim);
  const roles = ROLES.filter((role) => named.includes(role));
  return roles.length > 0 ? { roles } : { flaw: 'names none of the roles producer, reader and operator' };
}

function wordsOf(claim: unknown): readonly unknown[] {
  // Emulators of the gateway hand lists over as they are.
  if (Array.isArray(claim)) return claim.filter(isRole);
  if (typeof claim !== 'string') return [];
  const [, list = claim] = /^\[(.*)\]$/s.exec(claim) ?? [];
  // No other white space: the gateway puts none between.
  return list.split(/[ ,]+/);
}
