import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { flawOf } from '../address.ts';
import type { Check } from '../check.ts';
import { failed, NotKnownError, ok } from '../finding.ts';

const TIMEOUT_MS = 10_000;

/** Whether the URL can be that of an API, and its host has an address. */
export const url: Check = {
  id: 'url',
  examine: async ({ http }) => {
    if (http === undefined) throw new NotKnownError('takes --url');
    const see = 'docs/doctor.md#url';
    const flaw = flawOf(http.url);
    if (flaw !== undefined) {
      return failed(`the URL cannot be used: ${flaw}`, { remedy: 'Give the output ApiUrl of the stack.', see });
    }
    const { hostname, href } = new URL(http.url);
    const found = lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
    // A name server that does not answer is asked for half a minute.
    const addresses = await Promise.race([found, sleep(TIMEOUT_MS, [], { ref: false })]);
    if (addresses.length === 0) {
      const remedy = 'Look for a misspelling; compare it with the output ApiUrl of the stack.';
      return failed(`${hostname} has no address`, { remedy, see, unreachable: true });
    }
    return ok(`${href} (${addresses.length === 1 ? '1 address' : `${addresses.length} addresses`})`);
  },
};
