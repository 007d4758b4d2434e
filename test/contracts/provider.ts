import { afterEach, beforeEach, describe } from 'vitest';
import { describeAddresses } from './provider-addresses.ts';
import { describeAssigning } from './provider-assigning.ts';
import { describeDNS } from './provider-dns.ts';
import { describeFailures } from './provider-failures.ts';
import type { ProviderHarness, Stage } from './provider-harness.ts';
import { describeFirewalls } from './provider-services.ts';

/** The suite that every implementation of the provider port passes. */
export function describeProvider(name: string, setup: () => Promise<ProviderHarness>): void {
  describe(`the provider ${name}`, () => {
    let world: ProviderHarness;
    beforeEach(async () => {
      world = await setup();
    });
    afterEach(() => world.close());

    const stage: Stage = {
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
      pair: () => {
        const [here] = world.regions;
        return { a: world.addNode(here), b: world.addNode(here), address: world.addAddress(here) };
      },
    };

    describeAddresses(stage);
    describeAssigning(stage);
    describeFailures(stage);
    describeFirewalls(stage);
    describeDNS(stage);
  });
}
