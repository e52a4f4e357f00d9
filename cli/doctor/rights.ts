import type { Answer, Api } from './api.ts';
import { NotKnownError } from './finding.ts';

export interface Rights {
  readonly role: 'producer' | 'reader' | 'operator' | 'nobody' | 'several roles';
  readonly mayEnqueue: boolean;
  readonly mayRead: boolean;
  readonly mayOperate: boolean;
}

/** An id that no job has: its time is 1970. */
const NOWHERE = '00000000-0000-7000-8000-000000000000';

/**
 * What the API lets the caller do: whoever may is told what is wrong with the request, and whoever may not that they may not.
 * @throws NotKnownError without a token where one is asked for
 */
export async function rightsAt(api: Api): Promise<Rights> {
  const [enqueue, read, operate] = await Promise.all([
    api.send('POST', '/jobs', { body: {} }),
    api.send('GET', `/jobs/${NOWHERE}?include=payload`),
    api.send('POST', `/jobs/${NOWHERE}/cancel`),
  ]);
  const [mayEnqueue, mayRead, mayOperate] = [enqueue, read, operate].map(isLetIn) as [boolean, boolean, boolean];
  const role = roleOf(mayEnqueue, mayRead, mayOperate);
  if (role === 'nobody' && !api.hasToken) throw new NotKnownError('takes MILLRACE_TOKEN');
  return { role, mayEnqueue, mayRead, mayOperate };
}

function roleOf(mayEnqueue: boolean, mayRead: boolean, mayOperate: boolean): Rights['role'] {
  if (mayEnqueue && mayRead && mayOperate) return 'operator';
  if (mayOperate || (mayEnqueue && mayRead)) return 'several roles';
  if (mayEnqueue) return 'producer';
  return mayRead ? 'reader' : 'nobody';
}

/** @throws NotKnownError if it cannot be told */
function isLetIn({ status }: Answer): boolean {
  if (status >= 500 || status === 429) throw new NotKnownError(`takes an API that does not answer ${status}`);
  // None of these can be done: who says yes to them says it to anything.
  if (status < 400)
    throw new NotKnownError(`takes an API of Millrace, which does not answer ${status} to what makes no sense`);
  return status !== 401 && status !== 403;
}
