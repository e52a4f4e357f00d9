import { isDeepStrictEqual } from 'node:util';

/** Some of an object's members, and so on inside of them; arrays are whole. */
export type DeepPartial<T> = T extends readonly unknown[]
  ? { readonly [I in keyof T]: DeepPartial<T[I]> }
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> | undefined }
    : T;

/**
 * Where `actual` differs from the `wanted` part of it, as sentences that begin with the path; none: it fits. Members that
 * `wanted` does not have or has as undefined may be anything; arrays have the same length.
 */
export function mismatches(wanted: unknown, actual: unknown, path = ''): string[] {
  if (wanted === undefined || isDeepStrictEqual(wanted, actual)) return [];
  if (isContainer(wanted) && isContainer(actual) && Array.isArray(wanted) === Array.isArray(actual)) {
    const found = Object.entries(wanted).flatMap(([key, value]) =>
      mismatches(value, (actual as Record<string, unknown>)[key], `${path}.${key}`),
    );
    if (Array.isArray(wanted) && wanted.length !== (actual as unknown[]).length) {
      found.unshift(`${named(path)} has ${(actual as unknown[]).length} items, wanted ${wanted.length}`);
    }
    return found;
  }
  return [`${named(path)} is ${shown(actual)}, wanted ${shown(wanted)}`];
}

/** A value as JSON shows it, cut where it grows long. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing';
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

const SHOWN_CHARACTERS = 300;

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function named(path: string): string {
  return path.replace(/^\./, '') || 'it';
}
