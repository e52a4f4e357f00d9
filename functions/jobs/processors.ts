import type { Processors } from '../queue/contract.ts';
import type { contracts } from './contracts.ts';
import { tallyWebhook } from './tally-webhook.ts';

/** The code of the sample jobs: what `#processors` means here. */
export const processors: Processors<typeof contracts> = {
  'hello.greet': ({ name }, { log }) => {
    log.info(`Hello, ${name}!`);
    return { greeting: `Hello, ${name}!` };
  },
  'github.webhook': tallyWebhook,
};
