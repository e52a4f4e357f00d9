import type { Db } from './db.ts';

export type PauseScope = 'queue' | 'kind';

const PAUSE = `
INSERT INTO millrace.pauses AS p (scope, name)
VALUES ($1, $2)
ON CONFLICT (scope, name) DO UPDATE
SET paused_at = excluded.paused_at, resumed_at = NULL
WHERE p.resumed_at IS NOT NULL
RETURNING name`;

// The row stays: claims look back once for it.
const RESUME = `
UPDATE millrace.pauses p
SET resumed_at = clock_timestamp()
WHERE p.scope = $1 AND p.name = $2 AND p.resumed_at IS NULL
RETURNING p.name`;

/** Stops claims of a queue or a kind from the next one on. Jobs that run go on. Resolves false if it was paused already. */
export async function pause(db: Db, scope: PauseScope, name: string): Promise<boolean> {
  return (await db.query(PAUSE, [scope, name])).rowCount === 1;
}

/** Resolves false if it was not paused. The next claims find what had become due meanwhile. */
export async function resume(db: Db, scope: PauseScope, name: string): Promise<boolean> {
  return (await db.query(RESUME, [scope, name])).rowCount === 1;
}
