import { existsSync, readFileSync } from 'node:fs';

/** What the running API answered in each case, with ids and times made the same each time: written by test/contract. */
const DIRECTORY = new URL('./examples/', import.meta.url);

/** Bodies by case, such as `201 created`. */
export type Recorded = Readonly<Record<string, unknown>>;

/** Of one operation, or of all of them: `common`. */
export function recorded(name: string): Recorded {
  const file = new URL(`${name}.json`, DIRECTORY);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}
