import type { Db } from './db.ts';
import type { Operator } from './operator.ts';

export type PauseScope = 'queue' | 'kind' | 'schedule';

// A resend does nothing, even if somebody has resumed it since.
const PAUSE = `
WITH paused AS (
  INSERT INTO millrace.pauses AS p (scope, name)
  SELECT $1, $2
  WHERE NOT millrace.acted('pause', jsonb_build_object($1::text, $2::text), $4)
  ON CONFLICT (scope, name) DO UPDATE
  SET paused_at = excluded.paused_at, resumed_at = NULL
  WHERE p.resumed_at IS NOT NULL
  RETURNING p.scope, p.name
),
logged AS (
  INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
  SELECT coalesce($3, session_user), 'pause', jsonb_build_object(p.scope, p.name), 1, $4
  FROM paused p
)
SELECT EXISTS (SELECT FROM paused) OR millrace.acted('pause', jsonb_build_object($1::text, $2::text), $4) AS changed`;

// The row stays: claims look back once for it.
const RESUME = `
WITH resumed AS (
  UPDATE millrace.pauses p
  SET resumed_at = clock_timestamp()
  WHERE p.scope = $1 AND p.name = $2 AND p.resumed_at IS NULL
    AND NOT millrace.acted('resume', jsonb_build_object($1::text, $2::text), $4)
  RETURNING p.scope, p.name
),
logged AS (
  INSERT INTO millrace.operator_log (actor, action, target, count, request_id)
  SELECT coalesce($3, session_user), 'resume', jsonb_build_object(p.scope, p.name), 1, $4
  FROM resumed p
)
SELECT EXISTS (SELECT FROM resumed) OR millrace.acted('resume', jsonb_build_object($1::text, $2::text), $4) AS changed`;

/**
 * Stops claims of a queue or a kind from the next one on; jobs that run go on. Of a schedule the fire times pass, and are not made
 * up for. Resolves false if it was paused already.
 */
export async function pause(db: Db, scope: PauseScope, name: string, by?: Operator): Promise<boolean> {
  return change(db, PAUSE, scope, name, by);
}

/** Resolves false if it was not paused. The next claims find what had become due meanwhile. */
export async function resume(db: Db, scope: PauseScope, name: string, by?: Operator): Promise<boolean> {
  return change(db, RESUME, scope, name, by);
}

async function change(
  db: Db,
  statement: string,
  scope: PauseScope,
  name: string,
  by: Operator | undefined,
): Promise<boolean> {
  const { rows } = await db.query<{ changed: boolean }>(statement, [
    scope,
    name,
    by?.actor ?? null,
    by?.requestId ?? null,
  ]);
  return rows[0]?.changed === true;
}
