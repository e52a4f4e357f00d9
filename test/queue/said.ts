import { expect } from 'vitest';
import { type Fault, faultOf, sqlState } from '../../functions/queue/postgres-error.ts';

/** What an error is taken for. */
export type Meaning = readonly [state: string | undefined, fault: Fault];

export function meaningOf(error: unknown): Meaning {
  return [sqlState(error), faultOf(error)];
}

/** What the error is taken for with which this rejects. */
export async function said(doing: Promise<unknown>): Promise<Meaning> {
  const error = await doing.then(
    () => expect.fail('nothing went wrong'),
    (cause) => cause,
  );
  return meaningOf(error);
}
