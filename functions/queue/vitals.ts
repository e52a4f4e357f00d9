import type { Db } from './db.ts';
import { ISO } from './iso.ts';

/** How the database is that the queue lives in: what gets it into trouble before jobs show it. */
export interface Vitals {
  /** `18.4`. */
  readonly postgresVersion: string;
  /** Version of TLS on the connection that asks, `TLSv1.3`; null: it is not encrypted. */
  readonly tls: string | null;
  /** Connections of clients, whoever they are. */
  readonly connections: number;
  /** Those of them to this database. */
  readonly databaseConnections: number;
  readonly maxConnections: number;
  /** Transactions since the oldest snapshot that is still held, see xmin-age.ts. */
  readonly xminAge: number;
  /** Whether the server vacuums by itself. */
  readonly autovacuum: boolean;
  /** Tables of the queue for which that is switched off, by name. */
  readonly autovacuumOff: readonly string[];
  /** When it last vacuumed the live jobs; null: not since the statistics were reset. */
  readonly lastAutovacuumAt: string | null;
  /** Dead rows of the live jobs, estimated. */
  readonly deadRows: number;
  /** Days from now on for which there is a partition a day. */
  readonly partitionDaysAhead: number;
}

// Other people's sessions are shown to everybody, but not of what type they are: whoever has a user and a database is a client.
const VITALS = `
WITH sessions AS (
  SELECT datname
  FROM pg_stat_activity
  WHERE datid IS NOT NULL AND usesysid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'
),
parts AS (
  SELECT i.inhparent AS parent, bound[1]::uuid AS lower, bound[2]::uuid AS upper
  FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN LATERAL regexp_match(
    pg_get_expr(c.relpartbound, c.oid),
    $re$FROM \\((?:MINVALUE|'([-0-9a-f]+)')\\) TO \\((?:MAXVALUE|'([-0-9a-f]+)')\\)$re$) AS bound
  WHERE i.inhparent IN ('millrace.finished_jobs'::regclass, 'millrace.payloads'::regclass)
),
spans AS (
  SELECT
    parent,
    coalesce(millrace.uuidv7_time(lower), '-infinity') AS begins,
    coalesce(millrace.uuidv7_time(upper), 'infinity') AS ends
  FROM parts
),
wide AS (
  SELECT parent, min(begins) AS first
  FROM spans
  WHERE ends > now() AND ends > begins + interval '25 hours'
  GROUP BY parent
)
SELECT
  current_setting('server_version') AS "postgresVersion",
  (SELECT s.version FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()) AS tls,
  (SELECT count(*)::int FROM sessions) AS connections,
  (SELECT count(*)::int FROM sessions WHERE datname = current_database()) AS "databaseConnections",
  current_setting('max_connections')::int AS "maxConnections",
  millrace.xmin_age()::float8 AS "xminAge",
  current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS autovacuum,
  ARRAY(
    SELECT c.relname::text
    FROM pg_class c
    CROSS JOIN LATERAL pg_options_to_table(c.reloptions) o
    WHERE c.relnamespace = 'millrace'::regnamespace
      AND c.relkind = 'r'
      AND o.option_name = 'autovacuum_enabled'
      AND NOT o.option_value::boolean
    ORDER BY c.relname
  ) AS "autovacuumOff",
  to_char(
    pg_stat_get_last_autovacuum_time('millrace.live_jobs'::regclass) AT TIME ZONE 'UTC',
    ${ISO}
  ) AS "lastAutovacuumAt",
  pg_stat_get_dead_tuples('millrace.live_jobs'::regclass)::float8 AS "deadRows",
  (
    SELECT coalesce(min(CASE WHEN first <= now() THEN 0 ELSE extract(epoch FROM first - now()) / 86400 END), 0)::float8
    FROM wide
  ) AS "partitionDaysAhead"`;

/** All of it in one statement, which reads catalogues and no table of the queue. Takes `millrace_reader` or `millrace_operator`. */
export async function vitals(db: Db): Promise<Vitals> {
  return (await db.query<Vitals>(VITALS)).rows[0] as Vitals;
}
