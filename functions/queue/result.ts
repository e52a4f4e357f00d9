import { assertStorable } from './storable.ts';

/**
 * A processor's result as jsonb will hold it, `undefined` as null. A copy: what the processor still does to its own
 * object changes nothing any more.
 * @throws UnstorableError with a sentence, see storable.ts
 */
export function keptResult(result: unknown): unknown {
  if (result === undefined || result === null || typeof result === 'boolean') return result ?? null;
  return JSON.parse(assertStorable(result));
}
