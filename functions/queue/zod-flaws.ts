import type * as z from 'zod';
import { type Flaw, MAX_FLAWS, pointerTo } from './flaws.ts';

/** What a schema found, one flaw for each place; `base` is where the value lies in the whole. At most 20. */
export function flawsOfIssues(issues: readonly z.core.$ZodIssue[], base: readonly PropertyKey[] = []): Flaw[] {
  return issues
    .slice(0, MAX_FLAWS)
    .flatMap((issue) => flawsOfIssue(issue, [...base, ...issue.path]))
    .slice(0, MAX_FLAWS);
}

function flawsOfIssue(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): Flaw[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, MAX_FLAWS)
      .map((key) => ({ pointer: pointerTo([...path, key]), detail: 'is not a field that is known here' }));
  }
  const isMissing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [{ pointer: pointerTo(path), detail: isMissing ? 'is required' : issue.message }];
}
