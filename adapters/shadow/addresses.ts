import { ProviderError, Withheld } from '../../actors/errors.ts';
import type { Provider } from '../../actors/ports/provider.ts';
import type { Address, Difference, ObservedAddress, ProviderID } from '../../machines/types.ts';

type Verbs = Pick<Provider, 'findRoutedIP' | 'listRoutedIPs' | 'createRoutedIP' | 'deleteRoutedIP' | 'assignRoutedIP' | 'unassignRoutedIP'>;

/** Where an address would be, in the place of where it is; null for nowhere, since it would be deleted. */
interface Change {
  readonly was: ProviderID | null;
  readonly to: ProviderID | null;
}

/** Addresses as they would be. A change counts as long as its address stays where it was: once somebody else acts, what the provider says counts again. */
export function addressesOver(
  real: Pick<Provider, 'findRoutedIP' | 'listRoutedIPs'>,
  told: (difference: Difference) => void,
): { readonly verbs: Verbs; readonly changes: () => readonly Difference[] } {
  const changed = new Map<Address, Change>();
  const shown = (observed: ObservedAddress): ObservedAddress | null => {
    const change = changed.get(observed.address);
    if (change === undefined) return observed;
    if (!observed.locked && observed.providerID === change.was) return change.to && { ...observed, providerID: change.to };
    changed.delete(observed.address);
    return observed;
  };
  const change = (address: Address, next: Change): void => {
    changed.set(address, next);
    told(differenceOf(address, next));
  };
  const find: Verbs['findRoutedIP'] = async (address, call) => {
    try {
      return await real.findRoutedIP(address, call);
    } catch (error) {
      if (error instanceof ProviderError && error.kind === 'NotFound') changed.delete(address);
      throw error;
    }
  };
  const verbs: Verbs = {
    findRoutedIP: async (address, call) => {
      const found = shown(await find(address, call));
      if (found === null) throw new ProviderError('NotFound', `find ${address}: that it is deleted is withheld`);
      return found;
    },
    listRoutedIPs: async (call) => {
      const all = await real.listRoutedIPs(call);
      const there = new Set(all.map(({ address }) => address));
      if (call.family === undefined) for (const address of changed.keys()) if (!there.has(address)) changed.delete(address);
      return all.flatMap((observed) => shown(observed) ?? []);
    },
    createRoutedIP: async (region) => {
      throw new Withheld({ what: 'create', subject: 'a new address', from: null, to: region });
    },
    deleteRoutedIP: async (address, call) => {
      const { providerID } = await find(address, call);
      change(address, { was: providerID, to: null });
    },
    assignRoutedIP: async (address, to, call) => {
      const { providerID: was } = await find(address, call);
      if (was === to) changed.delete(address);
      else change(address, { was, to });
      return null;
    },
    unassignRoutedIP: async (address) => {
      throw new Withheld({ what: 'leave', subject: address, from: null, to: null });
    },
  };
  return { verbs, changes: () => [...changed].map(([address, each]) => differenceOf(address, each)) };
}

function differenceOf(subject: Address, { was: from, to }: Change): Difference {
  if (to === null) return { what: 'delete', subject, from, to };
  return { what: from === null ? 'assign' : 'move', subject, from, to };
}
