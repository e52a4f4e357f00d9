import type { Check } from '../check.ts';
import type { Deployment } from '../deployment.ts';
import { NotKnownError, ok, warning } from '../finding.ts';

const HOUR_MS = 3_600_000;
/** The newest, by their creation. */
const LOOKED_AT = 200;

/** Whether jobs die these days. Of those that were put in last; what died of old age long ago is known by now. */
export const dead: Check = {
  id: 'dead',
  examine: async (deployment) => {
    const { done, value } = await (await wayTo(deployment)).pages({ status: 'dead' }, LOOKED_AT).next();
    const jobs = done ? [] : value.jobs;
    const since = Date.now() - HOUR_MS;
    const recent = jobs.filter(({ finishedAt }) => Date.parse(String(finishedAt)) > since);
    const all = jobs.length === LOOKED_AT ? `${LOOKED_AT} or more` : String(jobs.length);
    if (recent.length === 0) return ok(`${all} dead jobs, none of the last hour`);
    const kinds = [...new Set(recent.map(({ kind }) => kind))].slice(0, 5).join(', ');
    const remedy = 'See what they died of, npx millrace list --status dead; mend that, then redrive them.';
    const many = recent.length === 1 ? '1 job' : `${recent.length} jobs`;
    return warning(`${many} died within the last hour: ${kinds}`, {
      remedy,
      see: 'docs/runbook.md#dead-letters',
    });
  },
};

/** By the API if it lets the caller in. */
async function wayTo(deployment: Deployment) {
  const isIn = await deployment.ready().then(
    ({ status }) => status === 200,
    () => false,
  );
  if (isIn) return deployment.byHttp();
  if (deployment.sql === undefined) throw new NotKnownError('takes a token that is let in, or DATABASE_URL');
  await deployment.ask(async (db) => db.query('SELECT'));
  return deployment.bySql();
}
