import type { Processors } from 'millrace/queue';
import type { contracts } from './contracts.js';

/** The code of each kind; only workers import it. What it throws is tried again later. */
export const processors: Processors<typeof contracts> = {
  'welcome.send': async ({ email, name }, { idempotencyKey, log }) => {
    // A job may run twice. Whoever sends the mail gets this key with it, and sends one.
    log.info('sends a welcome', { email, idempotencyKey });
    return { to: email, subject: `Welcome, ${name}!` };
  },
};
