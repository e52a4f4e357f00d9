import { deadJob, defineJob, PermanentError, type Processors } from 'millrace/queue';
import * as z from 'zod';

const letter = z.object({ to: z.email() });

export const contracts = {
  'letter.send': defineJob({ payload: letter, maxAttempts: 3, onDead: 'letter.lost' }),
  'letter.lost': defineJob({ payload: deadJob(letter) }),
};

export const processors: Processors<typeof contracts> = {
  'letter.send': async ({ to }) => {
    throw new PermanentError(`there is no ${to}`);
  },
  'letter.lost': ({ id, error, payload }, ctx) =>
    ctx.transaction(async (tx) => {
      await tx.query('INSERT INTO lost_letters (job_id, address, reason) VALUES ($1, $2, $3)', [
        id,
        payload?.to,
        error.message,
      ]);
    }),
};
