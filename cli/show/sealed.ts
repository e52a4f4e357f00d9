import { isEnvelope } from '../../functions/queue/codec.ts';

/** The value with a word in place of each part that is sealed: nobody can read its bytes. */
export function withoutSeals(value: unknown): unknown {
  if (isEnvelope(value)) return `(sealed by the codec of ${value.$sealed.kind})`;
  if (Array.isArray(value)) return value.map(withoutSeals);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSeals(inner)]));
}
