import type { Check } from '../check.ts';
import { type Advice, failed, NotKnownError, ok } from '../finding.ts';
import { isState } from '../state.ts';

/** Whether the API reaches its database, and finds the schema that it wants. */
export const ready: Check = {
  id: 'ready',
  examine: async (deployment) => {
    const answer = await deployment.ready();
    const { status, body, milliseconds } = answer;
    if (status === 200 && !isState(answer)) {
      const remedy = 'Is this the API of Millrace? Compare the URL with the output ApiUrl of the stack.';
      return failed('GET /ready answers 200 with what is no state of a queue', {
        remedy,
        see: 'docs/doctor.md#health',
      });
    }
    if (status === 200) return ok(`GET /ready answers in ${milliseconds} ms`);
    if (status === 401 || status === 403) throw new NotKnownError('takes a token that is let in');
    const problem = String(body.type ?? '').replace('urn:millrace:problem:', '');
    return failed(`GET /ready answers ${status} ${problem || body.message || ''}`.trim(), ADVICE[problem] ?? OTHER);
  },
};

const OTHER: Advice = { remedy: 'Look into the log of the function Ready.', see: 'docs/runbook.md#api-errors' };
const ADVICE: Readonly<Record<string, Advice>> = {
  'schema-outdated': {
    remedy: 'Run the migrations: deploy again, or npx millrace migrate.',
    see: 'docs/runbook.md#api-errors',
  },
  'database-unavailable': {
    remedy: 'Is the database up, with connections left, and does it let the function in?',
    see: 'docs/runbook.md#database-connections',
  },
};
