import { randomBytes } from 'node:crypto';
import { isHere } from '../address.ts';
import type { Answer } from '../api.ts';
import type { Check } from '../check.ts';
import { type Finding, failed, ok } from '../finding.ts';

/** Whether the API lets in nobody without a token, nor with one that it does not know. */
export const strangers: Check = {
  id: 'strangers',
  examine: async (deployment) => {
    const api = await deployment.answering();
    const invented = `mlr_${randomBytes(32).toString('base64url')}`;
    const [without, unknown] = await Promise.all([
      api.send('GET', '/ready', { token: null }),
      api.send('GET', '/ready', { token: invented }),
    ]);
    return judge(without, unknown, isHere(api.url));
  },
};

export function judge(without: Pick<Answer, 'status'>, unknown: Pick<Answer, 'status'>, isLoopback: boolean): Finding {
  const see = 'docs/doctor.md#strangers';
  const answers = `no token: ${without.status}, an unknown one: ${unknown.status}`;
  if (isRefusal(without) && isRefusal(unknown)) return ok(`refused (${answers})`);
  const isOpen = [without, unknown].some(({ status }) => status >= 200 && status < 300);
  if (isOpen && isLoopback)
    return ok('everybody on this machine is let in, as a local runtime does without --auth (MILLRACE_AUTH=on)');
  if (isOpen) {
    const remedy = 'Take it off the network, and deploy the API with its authorizer: whoever finds it may do all.';
    return failed(`THE API IS OPEN (${answers})`, { remedy, see });
  }
  const remedy = 'Look into the log of the authorizer: can it read the secret with the tokens?';
  return failed(`the API cannot tell who is who (${answers})`, { remedy, see: 'docs/runbook.md#api-errors' });
}

function isRefusal({ status }: Pick<Answer, 'status'>): boolean {
  return status === 401 || status === 403;
}
