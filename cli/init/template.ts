import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of a new project, as it lies beside this one. */
export function template(path: string): string {
  return readFileSync(join(import.meta.dirname, 'template', path), 'utf8');
}
