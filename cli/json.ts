import { terminal } from './terminal.ts';

/** Values that are the user's own: their keys stay as they are. */
const OPAQUE = new Set(['payload', 'result']);

/** `runAt` → `run_at` in all that an answer holds, but for payloads and results: as the API writes it. */
export function wire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(wire);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      OPAQUE.has(key) ? inner : wire(inner),
    ]),
  );
}

/** One document, readable on a terminal and on one line elsewhere. */
export function showJson(value: unknown): void {
  terminal.show(json(value, terminal.isWatched ? 2 : undefined));
}

/** JSON.stringify leaves what a terminal acts on as it is, but for the first 32 characters. */
export function json(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replace(
    /[\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
