import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian puts it where only root's PATH looks. */
const ALSO = ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'];

/** Path of PgBouncer where it is installed, as by `apt-get install pgbouncer`. */
export function pgbouncerProgram(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...ALSO].filter(Boolean);
  return folders.map((folder) => join(folder, 'pgbouncer')).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
