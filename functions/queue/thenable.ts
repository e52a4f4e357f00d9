/**
 * Whether `await` would wait for it: also a promise of another realm, or what a library makes in a promise's place.
 * @throws what a getter of it throws
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
