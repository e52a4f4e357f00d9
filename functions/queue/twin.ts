/**
 * Fixed text: the pending job that has the kind and unique key of the row `j`, as the statement sees it; NULL if there is
 * none. Both bounds as rows that begin with the key: no index but live_jobs_unique serves that, so it is two pages a look
 * (with `kind = …`, the indexes that begin with the kind cost the same and walk its backlog). A plan from when nothing seemed to be
 * pending may read all that is, though: a function that keeps its plan turns sorts off, as millrace.give_back does.
 * Ask for rows that have a key only: without one it reads its kind.
 */
export const TWIN = `(
    SELECT t.id
    FROM millrace.live_jobs t
    WHERE t.status = 'pending' AND t.closed_at IS NULL AND t.unique_key IS NOT NULL
      AND (t.unique_key, t.kind) >= (j.unique_key, j.kind)
      AND (t.unique_key, t.kind) <= (j.unique_key, j.kind)
    ORDER BY t.unique_key, t.kind
    LIMIT 1
  )`;
