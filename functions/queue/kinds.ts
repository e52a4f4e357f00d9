import type { Contract, Contracts } from './contract.ts';

/**
 * Contracts by every name that a job may have: the kinds themselves, and their aliases.
 * @throws RangeError if one name means two kinds, or an `onDead` is no kind or has an `onDead` of its own
 */
export function kindsByName(contracts: Contracts): Map<string, { readonly kind: string; readonly contract: Contract }> {
  const named = new Map(Object.entries(contracts).map(([kind, contract]) => [kind, { kind, contract }]));
  for (const [kind, contract] of Object.entries(contracts)) {
    for (const alias of contract.aliases) {
      const other = named.get(alias);
      if (other !== undefined) {
        throw new RangeError(
          `"${alias}" is an alias of "${kind}" and names "${other.kind}" too: a name means one kind`,
        );
      }
      named.set(alias, { kind, contract });
    }
    if (contract.onDead === undefined) continue;
    const handler = Object.hasOwn(contracts, contract.onDead) ? contracts[contract.onDead] : undefined;
    if (handler === undefined) throw new RangeError(`onDead of "${kind}" is "${contract.onDead}", which is no kind`);
    if (handler.onDead !== undefined) {
      throw new RangeError(
        `onDead of "${kind}" is "${contract.onDead}", which has an onDead itself: deaths could go on for ever`,
      );
    }
  }
  return named;
}

/** Names of the kinds that are told of deaths (`onDead`), aliases included. */
export function onDeadNames(contracts: Contracts): ReadonlySet<string> {
  const known = ON_DEAD.get(contracts);
  if (known !== undefined) return known;
  const kinds = Object.values(contracts).flatMap(({ onDead }) => onDead ?? []);
  const names = new Set(kinds.flatMap((kind) => [kind, ...(contractOf(contracts, kind)?.aliases ?? [])]));
  ON_DEAD.set(contracts, names);
  return names;
}

/** Asked for each job, and contracts stay the same. */
const ON_DEAD = new WeakMap<Contracts, ReadonlySet<string>>();

/** The kinds for people, each with its aliases, at most 50; `but` is left out. */
export function knownKinds(contracts: Contracts, but?: string): string {
  const known = Object.entries(contracts)
    .filter(([kind]) => kind !== but)
    .map(([kind, { aliases }]) => (aliases.length > 0 ? `${kind} (alias ${aliases.join(', ')})` : kind))
    .sort();
  const rest = known.length > KINDS_SHOWN ? `, … (${known.length} in all)` : '';
  return `${known.slice(0, KINDS_SHOWN).join(', ') || 'none'}${rest}`;
}

const KINDS_SHOWN = 50;

/** The contract of a kind or of an alias. Own properties only: "constructor" is no kind. */
export function contractOf(contracts: Contracts, name: string): Contract | undefined {
  if (Object.hasOwn(contracts, name)) return contracts[name];
  return Object.values(contracts).find(({ aliases }) => aliases.includes(name));
}
