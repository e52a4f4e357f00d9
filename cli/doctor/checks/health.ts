import { NoAnswerError } from '../api.ts';
import type { Check } from '../check.ts';
import { failed, ok } from '../finding.ts';

/** Whether the API answers at all, with nothing behind it. */
export const health: Check = {
  id: 'health',
  examine: async (deployment) => {
    deployment.api();
    const answer = await deployment.health().catch((error: unknown) => {
      if (error instanceof NoAnswerError) return error;
      throw error;
    });
    const see = 'docs/doctor.md#health';
    if (answer instanceof NoAnswerError) {
      const remedy = 'Is it deployed, or running, and may this machine reach it?';
      return failed(`GET /health has no answer: ${answer.message}`, { remedy, see, unreachable: true });
    }
    const { status, body, milliseconds } = answer;
    if (status === 200 && body.status === 'ok') return ok(`GET /health answers in ${milliseconds} ms`);
    const remedy = 'This is no API of Millrace, or a path is missing from the URL: compare it with the output ApiUrl.';
    return failed(`GET /health answers ${status}`, { remedy, see });
  },
};
