import type { Contract, Contracts } from '../functions/queue/contract.ts';
import { UnknownKindError } from '../functions/queue/errors.ts';
import { contractOf as find, knownKinds } from '../functions/queue/kinds.ts';

/** @throws UnknownKindError for a kind that has none; in TypeScript it does not compile */
export function contractOf(contracts: Contracts, kind: string): Contract {
  const contract = find(contracts, kind);
  if (contract) return contract;
  throw new UnknownKindError(`kind "${kind}" has no contract; known kinds: ${knownKinds(contracts)}`);
}
