/** Values that are the user's own: their keys stay as they are. */
const OPAQUE = new Set(['payload', 'result']);

/** `run_at` → `runAt` in all that an answer holds, but for payloads and results. */
export function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      OPAQUE.has(key) ? inner : camelCased(inner),
    ]),
  );
}

/**
 * `runAt` → `run_at` in the names of options; what they hold is sent as it is, but a Date becomes text here.
 * @throws RangeError for an invalid Date, which JSON would silently make null of
 */
export function snakeCased(options: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(options).map(([key, value]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value instanceof Date ? textOf(value, key) : value,
    ]),
  );
}

function textOf(date: Date, option: string): string {
  if (Number.isNaN(date.getTime())) throw new RangeError(`${option} is an invalid Date`);
  return date.toISOString();
}
