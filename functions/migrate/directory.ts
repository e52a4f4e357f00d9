import { existsSync } from 'node:fs';

/** Where the migrations lie: beside the bundle, or in the repository. */
export function migrationsDirectory(): URL {
  const bundled = new URL('./migrations/', import.meta.url);
  return existsSync(bundled) ? bundled : new URL('../../migrations/', import.meta.url);
}
