/** What a caller may do: `producer` enqueues and sees status, `reader` also sees payloads and results, `operator` may do all. */
export const ROLES = ['producer', 'reader', 'operator'] as const;
export type Role = (typeof ROLES)[number];

export function isRole(value: unknown): value is Role {
  return (ROLES as readonly unknown[]).includes(value);
}
