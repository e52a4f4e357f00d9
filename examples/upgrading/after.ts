import { defineJob, type Processors } from 'millrace/queue';
import * as z from 'zod';

const Old = z.object({ to: z.email() });

export const contracts = {
  'email.send': defineJob({
    payload: z.object({ recipients: z.array(z.email()).min(1) }),
    aliases: ['mail.send'],
    // Called with every payload, those of today too.
    upcast: (payload) => {
      const old = Old.safeParse(payload);
      return old.success ? { recipients: [old.data.to] } : payload;
    },
  }),
};

export const processors: Processors<typeof contracts> = {
  'email.send': async ({ recipients }) => ({ sent: recipients }),
};
