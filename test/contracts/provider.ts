import { afterEach, beforeEach, describe } from 'vitest';
import type { Address, Family } from '../../machines/model/types.ts';
import { describeAddresses } from './provider-addresses.ts';
import { describeAssigning } from './provider-assigning.ts';
import { describeDNS } from './provider-dns.ts';
import { describeFailures } from './provider-failures.ts';
import { describeFamilies } from './provider-families.ts';
import type { ProviderHarness, Stage } from './provider-harness.ts';
import { describeFirewalls } from './provider-services.ts';

/** An address of each family that no account has. */
const NOWHERE: Readonly<Record<Family, Address>> = { 4: '203.0.113.250' as Address, 6: '2001:db8:dead::1' as Address };

/** The suite that every implementation of the provider port passes. */
export function describeProvider(name: string, setup: () => Promise<ProviderHarness>): void {
  describe(`the provider ${name}`, () => {
    let world: ProviderHarness;
    beforeEach(async () => {
      world = await setup();
    });
    afterEach(() => world.close());

    const stageOf = (family: Family): Stage => ({
      get world() {
        return world;
      },
      get provider() {
        return world.provider;
      },
      get here() {
        return world.regions[0];
      },
      get elsewhere() {
        return world.regions[1];
      },
      family,
      nowhere: NOWHERE[family],
      address: (holder) => world.addAddress(world.regions[0], family, holder),
      pair: () => {
        const [here] = world.regions;
        return { a: world.addNode(here), b: world.addNode(here), address: world.addAddress(here, family) };
      },
    });

    const stage = stageOf(4);
    describeAddresses(stage);
    describeAssigning(stage);
    describeFailures(stage);
    describeFamilies(stage);
    describeFirewalls(stage);
    describeDNS(stage);

    describe('with IPv6 addresses:', () => {
      const six = stageOf(6);
      describeAddresses(six);
      describeAssigning(six);
      describeFailures(six);
    });
  });
}
