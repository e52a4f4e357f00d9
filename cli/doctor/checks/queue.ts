import { CANARY } from '../../../functions/queue/canary.ts';
import type { Check } from '../check.ts';
import { duration } from '../duration.ts';
import { failed, ok, warning } from '../finding.ts';

/** Whether workers come. */
export const tick: Check = {
  id: 'tick',
  examine: async (deployment) => {
    const { secondsSinceWorker: seconds } = await deployment.state();
    const remedy = 'Look whether the schedule is enabled, and how its runs end.';
    const see = 'docs/runbook.md#no-tick';
    if (seconds === null) return failed('no worker has ever been there', { remedy, see });
    const found = `a worker was there ${duration(seconds)} ago`;
    return seconds < deployment.options.limits.tick ? ok(found) : failed(found, { remedy, see });
  },
};

/** Whether jobs wait for long. */
export const lag: Check = {
  id: 'lag',
  examine: async (deployment) => {
    const { lagSeconds } = await deployment.state();
    const { lag, ordinaryLag } = deployment.options.limits;
    const found = lagSeconds === 0 ? 'no job is due' : `the oldest due job has waited for ${duration(lagSeconds)}`;
    if (lagSeconds < ordinaryLag) return ok(found);
    const advice = {
      remedy: 'Are workers there, and enough of them? Is its queue or kind paused?',
      see: 'docs/runbook.md#oldest-due-age',
    } as const;
    return lagSeconds < lag ? warning(found, advice) : failed(found, advice);
  },
};

/** What somebody has paused, and perhaps forgotten. */
export const paused: Check = {
  id: 'paused',
  examine: async (deployment) => {
    const { paused } = await deployment.state();
    if (paused.length === 0) return ok('nothing is paused');
    const names = paused.map(({ scope, name }) => `${scope} ${name}`).join(', ');
    const remedy = 'Resume it once the reason is gone: npx millrace resume.';
    return warning(`paused: ${names}`, { remedy, see: 'docs/runbook.md#oldest-due-age' });
  },
};

/** Whether there is a worker for all that is due. */
export const unclaimed: Check = {
  id: 'unclaimed',
  examine: async (deployment) => {
    const { unclaimedKinds, unclaimedQueues } = await deployment.state();
    // One that an earlier doctor left behind: that of this one says what there is to say.
    const kinds = unclaimedKinds.filter((kind) => kind !== CANARY);
    const found = [
      kinds.length > 0 && `no worker has the kinds ${kinds.join(', ')}`,
      unclaimedQueues.length > 0 && `no worker serves the queues ${unclaimedQueues.join(', ')}`,
    ].filter(Boolean);
    if (found.length === 0) return ok('every due job has a worker');
    const remedy = 'Deploy a worker that has them, or cancel the jobs.';
    return failed(found.join('; '), { remedy, see: 'docs/runbook.md#unclaimed-kinds' });
  },
};
