import type * as z from 'zod';
import { type Flaw, MAX_FLAWS, pointerTo } from './flaws.ts';

interface About {
  /** Where the value lies in the whole. */
  readonly base?: readonly PropertyKey[];
  /** The fields that the value itself may have: told to who sends another. */
  readonly known?: readonly string[];
  /** What a field is called. */
  readonly noun?: string;
}

/** What a schema found, one flaw for each place. At most 20. */
export function flawsOfIssues(issues: readonly z.core.$ZodIssue[], about: About = {}): Flaw[] {
  return issues
    .slice(0, MAX_FLAWS)
    .flatMap((issue) => flawsOfIssue(issue, about))
    .slice(0, MAX_FLAWS);
}

function flawsOfIssue(issue: z.core.$ZodIssue, { base = [], known = [], noun = 'field' }: About): Flaw[] {
  const path = [...base, ...issue.path];
  if (issue.code === 'unrecognized_keys') {
    const names = issue.path.length === 0 && known.length > 0 ? `; known are ${known.join(', ')}` : '';
    return issue.keys.slice(0, MAX_FLAWS).map((key, at) => ({
      pointer: pointerTo([...path, key]),
      // The list once is enough.
      detail: `is not a ${noun} that is known here${at === 0 ? names : ''}`,
    }));
  }
  const isMissing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined');
  return [{ pointer: pointerTo(path), detail: isMissing ? 'is required' : issue.message }];
}
