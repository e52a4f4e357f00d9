import { readFileSync } from 'node:fs';

/** The installed one. */
export function versionOf(name: string): string {
  const text = readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
