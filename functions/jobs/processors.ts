import type { Processors } from '../queue/contract.ts';
import type { contracts } from './contracts.ts';
import { greet } from './greet.ts';
import { tallyWebhook } from './tally-webhook.ts';

/** The code of the sample jobs: what `#processors` means here. */
export const processors: Processors<typeof contracts> = {
  'hello.greet': greet,
  'github.webhook': tallyWebhook,
};
