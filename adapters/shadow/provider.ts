import type { Provider } from '../../actors/ports/provider.ts';
import type { Difference } from '../../machines/types.ts';
import { addressesOver } from './addresses.ts';
import { firewallsOver } from './firewalls.ts';
import { zonesOver } from './zones.ts';

/** A provider that is only read. */
export interface Shadow {
  readonly provider: Provider;
  /** What is withheld, as far as nobody else has done it yet. Nodes go by their providerID. */
  readonly changes: () => readonly Difference[];
}

/** The provider as it would be after all that it was asked to change. Of `real` nothing is called that changes anything; what would be is kept here, and shown by what is read from then on, so that what comes
 *  after it is decided, too. `told`: of each change, as it is decided. */
export function shadowOf(real: Provider, told: (difference: Difference) => void): Shadow {
  const parts = [addressesOver(real, told), firewallsOver(real, told), zonesOver(real, told)] as const;
  const [addresses, firewalls, zones] = parts;
  const { name, capabilities, jobs } = real;
  return {
    provider: {
      name,
      capabilities,
      ...(jobs && { jobs }),
      findNode: (...asked) => real.findNode(...asked),
      actionState: (...asked) => real.actionState(...asked),
      ...addresses.verbs,
      ...firewalls.verbs,
      ...zones.verbs,
    },
    changes: () => parts.flatMap(({ changes }) => changes()),
  };
}
