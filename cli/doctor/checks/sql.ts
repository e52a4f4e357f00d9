import type { Db } from '../../../functions/queue/db.ts';
import { CliError } from '../../cli-error.ts';
import type { Check } from '../check.ts';
import { duration } from '../duration.ts';
import { type Finding, failed, NotKnownError, ok, warning } from '../finding.ts';

/** Whether the database lets this login in, and how. */
export const database: Check = {
  id: 'database',
  examine: async (deployment) => {
    if (deployment.sql === undefined) throw new NotKnownError('takes DATABASE_URL');
    try {
      const { login, tls } = await deployment.server();
      return ok(`${login} is let in at ${deployment.sql.where}, ${tls ?? 'no TLS, which will do on loopback'}`);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const remedy = 'Compare DATABASE_URL with the secret of the database; may this machine reach it?';
      return failed(error.message, { remedy, see: 'docs/doctor.md#database', unreachable: true });
    }
  },
};

const ROLES = `
SELECT
  r.name AS role,
  to_regrole(r.name) IS NOT NULL AS there,
  CASE WHEN to_regrole(r.name) IS NULL THEN false ELSE pg_has_role(r.name::name, 'MEMBER') END AS mine,
  CASE WHEN to_regrole(r.name) IS NULL THEN false ELSE (
    SELECT bool_and(has_function_privilege(r.name::name, p.oid, 'EXECUTE'))
    FROM pg_proc p
    WHERE p.pronamespace = to_regnamespace('millrace') AND p.proname = r.does
  ) END AS granted
FROM (VALUES
  ('millrace_producer', 'enqueue_many'),
  ('millrace_reader', 'jobs_of'),
  ('millrace_worker', 'claim'),
  ('millrace_reaper', 'maintain_partitions'),
  ('millrace_operator', 'cancel')
) r(name, does)`;

interface Role {
  readonly role: string;
  readonly there: boolean;
  readonly mine: boolean;
  /** Whether it may do what it is there for; null: there is no such function. */
  readonly granted: boolean | null;
}

/** Whether the database roles are there and may do what they are for, and which of them this login has. */
export const roles: Check = {
  id: 'roles',
  examine: async (deployment) => {
    const found = await deployment.ask(async (db: Db) => (await db.query<Role & Record<string, unknown>>(ROLES)).rows);
    const see = 'docs/doctor.md#roles';
    const missing = found.filter(({ there }) => !there);
    if (missing.length > 0) {
      const remedy = 'SELECT statement FROM millrace.role_statements() says what an administrator has to run.';
      return failed(`there is no ${named(missing)}`, { remedy, see });
    }
    if (found.every(({ granted }) => granted === null)) throw new NotKnownError('takes the schema of this release');
    const powerless = found.filter(({ granted }) => granted !== true);
    if (powerless.length > 0) {
      const remedy = 'As the owner of the schema: SELECT millrace.grant_roles(); if that is not there, migrate.';
      return failed(`${named(powerless)} may not do what it is there for`, { remedy, see });
    }
    const mine = found.filter((one) => one.mine);
    const member = mine.length === found.length ? 'all of them' : named(mine) || 'none of them';
    return ok(`all five are there; this login is ${member}`);
  },
};

function named(roles: readonly Role[]): string {
  return roles.map(({ role }) => role).join(', ');
}

/** Whether logs here and there will line up. */
export const clock: Check = {
  id: 'clock',
  examine: async (deployment) => {
    const { aheadMs, whose } = await clockOf(deployment);
    return judgeClock(aheadMs, whose, deployment.options.limits.clock);
  },
};

/** @param limit seconds */
export function judgeClock(aheadMs: number, whose: string, limit: number): Finding {
  const seconds = Math.abs(aheadMs) / 1000;
  // The header of the API has whole seconds.
  if (seconds < 2) return ok(`${whose} clock and the one here agree`);
  const found = `${whose} clock is ${duration(seconds)} ${aheadMs < 0 ? 'behind' : 'ahead of'} the one here`;
  if (seconds <= limit) return ok(found);
  const remedy = 'Jobs go by the database alone and do not mind; times in logs will not line up. Set this clock.';
  return warning(found, { remedy, see: 'docs/doctor.md#clock' });
}

async function clockOf(deployment: Parameters<Check['examine']>[0]) {
  if (deployment.sql !== undefined) {
    await deployment.ask((db) => db.query('SELECT'));
    return { aheadMs: (await deployment.server()).aheadMs, whose: "the database's" };
  }
  await deployment.answering();
  const { headers } = await deployment.health();
  const at = Date.parse(String(headers.date));
  if (Number.isNaN(at)) throw new NotKnownError('takes DATABASE_URL, since the API does not tell the time');
  return { aheadMs: at - Date.now(), whose: "the API's" };
}
