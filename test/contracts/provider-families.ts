import { describe, expect, test } from 'vitest';
import type { Address, ProviderID } from '../../machines/model/types.ts';
import { creation, expectKind, failover, read, type Stage } from './provider-harness.ts';

/** Addresses of both families in one account. */
export function describeFamilies(stage: Stage): void {
  /** A node that holds an IPv4 address, and an IPv6 address that nobody holds. */
  const mixed = (): { a: ProviderID; four: Address; six: Address } => {
    const { a } = stage.pair();
    return { a, four: stage.world.addAddress(stage.here, 4, a), six: stage.world.addAddress(stage.here, 6) };
  };
  const holders = (...addresses: readonly Address[]) => addresses.map((address) => stage.world.inspect(address)?.providerID);

  describe('addresses of both families', () => {
    test('are listed each by themselves', async () => {
      const { four, six } = mixed();
      const listed = async (family: 4 | 6) => {
        const all = await stage.provider.listRoutedIPs({ ...read, family });
        return all.map(({ address }) => address).sort();
      };
      const fours = stage.world.addresses().filter((address) => !address.includes(':'));
      expect(fours).toContain(four);
      expect(await listed(4)).toEqual([...fours].sort());
      expect(await listed(6)).toEqual([six]);
    });

    test('are held by one node side by side', async () => {
      const { a, four, six } = mixed();
      await stage.provider.assignRoutedIP(six, a, failover);
      await stage.world.settle();
      expect(holders(four, six)).toEqual([a, a]);
      expect(await stage.provider.findRoutedIP(six, read)).toMatchObject({ address: six, region: stage.here, providerID: a });
    });

    test('do not stand for each other: a node takes one of each', async () => {
      const { a, four, six } = mixed();
      await stage.provider.assignRoutedIP(six, a, failover);
      await stage.world.settle();
      for (const family of [4, 6] as const) {
        const another = stage.world.addAddress(stage.here, family);
        await expectKind(stage.provider.assignRoutedIP(another, a, failover), 'NodeInUse');
      }
      expect(holders(four, six)).toEqual([a, a]);
    });

    test('are created of IPv4 only', async () => {
      mixed();
      expect(await stage.provider.createRoutedIP(stage.here, creation)).toMatch(/^[0-9.]+$/);
    });
  });
}
