import { isHere } from '../address.ts';
import type { Check } from '../check.ts';
import { duration } from '../duration.ts';
import { failed, ok, warning } from '../finding.ts';

const OLDEST = 15;
const NEWEST = 18;

/** Whether it is a Postgres that the release is tested on, and the API talks to it in secret. */
export const postgres: Check = {
  id: 'postgres',
  examine: async (deployment) => {
    const { postgresVersion, tls } = await deployment.vitals();
    const major = Number.parseInt(postgresVersion, 10);
    const found = `Postgres ${postgresVersion}, ${tls ?? 'no TLS'}`;
    const see = 'docs/doctor.md#postgres';
    if (major < OLDEST) return failed(found, { remedy: `Upgrade it: ${OLDEST} is the oldest that will do.`, see });
    if (major > NEWEST) return warning(found, { remedy: `This release is tested up to ${NEWEST}.`, see });
    const isFarAway = tls === null && deployment.http !== undefined && !isHere(new URL(deployment.http.url));
    if (!isFarAway) return ok(found);
    return warning(`${found} between the API and its database`, {
      remedy: 'Is it on the same machine, or behind a proxy that speaks TLS? Otherwise use it.',
      see,
    });
  },
};

/** Whether connections are left. */
export const connections: Check = {
  id: 'connections',
  examine: async (deployment) => {
    const { connections, databaseConnections, maxConnections } = await deployment.vitals();
    const found = `${connections} of ${maxConnections} in use, ${databaseConnections} of them for this database`;
    if (connections < maxConnections * deployment.options.limits.connectionsShare) return ok(found);
    const remedy = 'See whose they are; lower what workers and API may take, or take a larger instance class.';
    return failed(found, { remedy, see: 'docs/runbook.md#database-connections' });
  },
};

/** Whether dead rows are cleared away. */
export const autovacuum: Check = {
  id: 'autovacuum',
  examine: async (deployment) => {
    const { autovacuum, autovacuumOff, lastAutovacuumAt, deadRows } = await deployment.vitals();
    const see = 'docs/doctor.md#autovacuum';
    if (!autovacuum) {
      const remedy = "Set autovacuum and track_counts to on, in the server's parameters.";
      return failed('it is switched off for the whole server', { remedy, see });
    }
    if (autovacuumOff.length > 0) {
      const remedy = 'For each: ALTER TABLE millrace.<table> RESET (autovacuum_enabled);';
      return failed(`it is switched off for ${autovacuumOff.join(', ')}`, { remedy, see });
    }
    const ago = lastAutovacuumAt && duration(Math.max(0, Date.now() - Date.parse(lastAutovacuumAt)) / 1000);
    const last = ago ? `last ${ago} ago` : 'not needed so far';
    return ok(`on; ${last}; ${deadRows} dead rows among the live jobs`);
  },
};

/** Whether somebody keeps vacuum from its work. */
export const snapshot: Check = {
  id: 'snapshot',
  examine: async (deployment) => {
    const { xminAge } = await deployment.vitals();
    const found = `the oldest one is ${xminAge} transactions old`;
    if (xminAge < deployment.options.limits.xminAge) return ok(found);
    const remedy = 'Find who holds it, a forgotten transaction or replication slot, and end that.';
    return failed(found, { remedy, see: 'docs/runbook.md#pinned-vacuum' });
  },
};

/** Whether the reaper keeps partitions ready. */
export const partitions: Check = {
  id: 'partitions',
  examine: async (deployment) => {
    const days = Math.round((await deployment.vitals()).partitionDaysAhead * 10) / 10;
    const found = `a partition a day for ${days} more days`;
    if (days >= deployment.options.limits.partitionDays) return ok(found);
    const remedy = 'The reaper makes them: look whether it runs, and how its runs end.';
    return failed(found, { remedy, see: 'docs/runbook.md#failed-runs' });
  },
};
