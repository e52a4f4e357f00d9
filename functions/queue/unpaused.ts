/** Of the queue $1 and the kinds $2, those that are not paused: `lane.kinds`, none if the queue is. Fixed text, of a WITH. */
export const UNPAUSED = `
lane AS MATERIALIZED (
  SELECT ARRAY(
    SELECT k.kind
    FROM unnest($2::text[]) k(kind)
    WHERE NOT EXISTS (
      SELECT
      FROM millrace.pauses p
      WHERE p.resumed_at IS NULL AND (p.scope, p.name) IN (('kind', k.kind), ('queue', $1)))
  ) AS kinds
)`;
