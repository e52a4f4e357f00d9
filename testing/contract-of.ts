import type { Contract, Contracts } from '../functions/queue/contract.ts';
import { UnknownKindError } from '../functions/queue/errors.ts';

/** @throws UnknownKindError for a kind that has none; in TypeScript it does not compile */
export function contractOf(contracts: Contracts, kind: string): Contract {
  const contract: Contract | undefined = Object.hasOwn(contracts, kind) ? contracts[kind] : undefined;
  if (contract) return contract;
  throw new UnknownKindError(
    `kind "${kind}" has no contract; known kinds: ${Object.keys(contracts).join(', ') || 'none'}`,
  );
}
