import { describe, expect, test } from 'vitest';
import type { ProviderID } from '../../machines/model/types.ts';
import { creation, expectKind, read, type Stage } from './provider-harness.ts';

/** Finding, listing, creating and deleting addresses. */
export function describeAddresses(stage: Stage): void {
  describe('finding', () => {
    test('reports region and holder of an address', async () => {
      const { a, address } = stage.pair();
      const held = stage.address(a);
      expect(await stage.provider.findRoutedIP(address, read)).toEqual({ address, region: stage.here, providerID: null, locked: false });
      expect(await stage.provider.findRoutedIP(held, read)).toEqual({ address: held, region: stage.here, providerID: a, locked: false });
    });

    test('of an address that does not exist is NotFound', async () => {
      const error = await expectKind(stage.provider.findRoutedIP(stage.nowhere, read), 'NotFound');
      expect(error.unknownOutcome).toBe(false);
    });

    test('tells whether the machine behind a node exists', async () => {
      const { a } = stage.pair();
      expect(await stage.provider.findNode(a, read)).toBe('present');
      stage.world.removeNode(a);
      expect(await stage.provider.findNode(a, read)).toBe('gone');
    });

    test('of a node of another provider is Invalid', async () => {
      await expectKind(stage.provider.findNode('elsewhere:///x/1' as ProviderID, read), 'Invalid');
    });
  });

  describe('listing', () => {
    test('an account without addresses is an empty list', async () => {
      expect(await stage.provider.listRoutedIPs({ ...read, family: stage.family })).toEqual([]);
    });

    test('shows every address once, however many pages that takes', async () => {
      const all = Array.from({ length: 450 }, () => stage.address());
      const listed = (await stage.provider.listRoutedIPs({ ...read, family: stage.family })).map(({ address }) => address);
      expect(listed).toHaveLength(450);
      expect([...listed].sort()).toEqual(all.sort());
    });

    test('is an error when the list came back without its end', async () => {
      for (let i = 0; i < 10; i++) stage.address();
      await stage.world.befall('partialList');
      const call = { ...read, family: stage.family };
      await expectKind(stage.provider.listRoutedIPs(call), 'Unavailable');
      expect(await stage.provider.listRoutedIPs(call)).toHaveLength(10);
    });
  });

  describe('creating', () => {
    test('makes one address in the region, attached to nothing', async () => {
      const address = await stage.provider.createRoutedIP(stage.here, creation);
      expect(stage.world.addresses()).toEqual([address]);
      expect(stage.world.inspect(address)).toMatchObject({ region: stage.here, providerID: null });
    });

    test('beyond the quota is Invalid and makes none', async () => {
      stage.world.setQuota(1);
      await stage.provider.createRoutedIP(stage.here, creation);
      const error = await expectKind(stage.provider.createRoutedIP(stage.here, creation), 'Invalid');
      expect(error.unknownOutcome).toBe(false);
      expect(stage.world.addresses()).toHaveLength(1);
    });

    test('whose answer is lost says that it may have taken effect, and it has', async () => {
      await stage.world.befall('lostAnswer');
      const error = await expectKind(stage.provider.createRoutedIP(stage.here, creation), 'Unavailable');
      expect(error.unknownOutcome).toBe(true);
      expect(stage.world.addresses()).toHaveLength(1);
    });
  });

  describe('deleting', () => {
    test('removes the address, and once more is harmless', async () => {
      const { address } = stage.pair();
      await stage.provider.deleteRoutedIP(address, creation);
      expect(stage.world.addresses()).toEqual([]);
      await stage.provider.deleteRoutedIP(address, creation);
    });
  });
}
