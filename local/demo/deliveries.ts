import { createRequire } from 'node:module';

/** One webhook delivery as GitHub sends it. */
export interface Delivery {
  /** Such as `push` or `issues`. */
  readonly event: string;
  /** `owner/name`; GitHub Apps and organisations also send deliveries that belong to no repository. */
  readonly repository: string | undefined;
  readonly body: object;
}

interface Examples {
  readonly name: string;
  readonly examples: readonly { readonly repository?: { readonly full_name: string } }[];
}

/** The 329 real deliveries of the npm package @octokit/webhooks-examples (MIT), about 10 KB each. */
export function readDeliveries(): Delivery[] {
  const events: readonly Examples[] = createRequire(import.meta.url)('@octokit/webhooks-examples');
  return events.flatMap(({ name, examples }) =>
    examples.map((body) => ({ event: name, repository: body.repository?.full_name, body })),
  );
}
