import { expect } from 'vitest';
import type { Answered } from '../../openapi/expect-answer.ts';
import type { Ground } from '../ground.ts';

/** Makes what is there beforehand, sends the request, and resolves what it was answered. */
export type Case = (ground: Ground) => Promise<Answered>;

/** By the documented answer that it must get: operation, status, name. */
export type Cases = Readonly<Record<string, Case>>;

/** An id that no job has. */
export const NOWHERE = '0196a3c8-1d6e-7d2b-8f0a-000000000000';

/** The answer, which has these headers. */
export async function having(headers: Readonly<Record<string, RegExp>>, answer: Promise<Answered>): Promise<Answered> {
  const got = await answer;
  for (const [name, pattern] of Object.entries(headers)) expect(got.headers[name], name).toMatch(pattern);
  return got;
}
