import { describe, expect, test } from 'vitest';
import type { ProviderID } from '../../machines/model/types.ts';
import { expectKind, failover, read, type Stage } from './provider-harness.ts';

/** Pointing addresses at nodes, and away from them. */
export function describeAssigning(stage: Stage): void {
  describe('assigning', () => {
    test('points the address at the node', async () => {
      const { a, address } = stage.pair();
      await stage.provider.assignRoutedIP(address, a, failover);
      await stage.world.settle();
      expect(stage.world.inspect(address)).toMatchObject({ providerID: a, locked: false });
      expect(await stage.provider.findRoutedIP(address, read)).toMatchObject({ providerID: a, locked: false });
    });

    test('moves the address from one node to another', async () => {
      const { a, b } = stage.pair();
      const held = stage.address(a);
      await stage.provider.assignRoutedIP(held, b, failover);
      await stage.world.settle();
      expect(stage.world.inspect(held)).toMatchObject({ providerID: b });
    });

    test('hands out a reference by which the action can be asked for', async () => {
      const { a, address } = stage.pair();
      const ref = await stage.provider.assignRoutedIP(address, a, failover);
      await stage.world.settle();
      if (ref !== null) expect(['completed', 'unknown']).toContain(await stage.provider.actionState(address, ref, read));
      expect(await stage.provider.actionState(address, '987654321', read)).toBe('unknown');
    });

    test('where it is already is success', async () => {
      const { a } = stage.pair();
      const held = stage.address(a);
      expect(await stage.provider.assignRoutedIP(held, a, failover)).toBe(null);
      await stage.world.settle();
      expect(stage.world.inspect(held)).toMatchObject({ providerID: a });
    });

    test('to a node that holds another address is NodeInUse and changes nothing', async () => {
      const { a, address } = stage.pair();
      const other = stage.address(a);
      await expectKind(stage.provider.assignRoutedIP(address, a, failover), 'NodeInUse');
      await stage.world.settle();
      expect([stage.world.inspect(address)?.providerID, stage.world.inspect(other)?.providerID]).toEqual([null, a]);
    });

    test('of an unknown address, or to a node that is gone, is NotFound', async () => {
      const { a, b, address } = stage.pair();
      await expectKind(stage.provider.assignRoutedIP(stage.nowhere, a, failover), 'NotFound');
      stage.world.removeNode(b);
      await expectKind(stage.provider.assignRoutedIP(address, b, failover), 'NotFound');
    });

    test('across regions is Invalid', async () => {
      const { address } = stage.pair();
      await expectKind(stage.provider.assignRoutedIP(address, stage.world.addNode(stage.elsewhere), failover), 'Invalid');
    });

    test('to a node of another provider is Invalid and sends nothing', async () => {
      const { address } = stage.pair();
      const before = stage.world.writes();
      await expectKind(stage.provider.assignRoutedIP(address, 'elsewhere:///x/1' as ProviderID, failover), 'Invalid');
      expect(stage.world.writes()).toBe(before);
    });

    test('while an earlier change is pending is InProgress', async () => {
      const { a, address } = stage.pair();
      await stage.world.befall('pendingEvent');
      const error = await expectKind(stage.provider.assignRoutedIP(address, a, failover), 'InProgress');
      expect(error.unknownOutcome).toBe(false);
    });

    test('whose answer is lost says that it may have taken effect, and repeating it does no harm', async () => {
      const { a, address } = stage.pair();
      await stage.world.befall('lostAnswer');
      const error = await expectKind(stage.provider.assignRoutedIP(address, a, failover), 'Unavailable');
      expect(error.unknownOutcome).toBe(true);
      await stage.world.settle();
      expect(stage.world.inspect(address)).toMatchObject({ providerID: a });
      await stage.provider.assignRoutedIP(address, a, failover);
      await stage.world.settle();
      expect(stage.world.inspect(address)).toMatchObject({ providerID: a });
    });

    test('that is lost on its way says that it may have taken effect, although it has not', async () => {
      const { a, address } = stage.pair();
      await stage.world.befall('lostRequest');
      expect((await expectKind(stage.provider.assignRoutedIP(address, a, failover), 'Unavailable')).unknownOutcome).toBe(true);
      await stage.world.settle();
      expect(stage.world.inspect(address)).toMatchObject({ providerID: null });
    });

    test('without a connection says that nothing was sent', async () => {
      const { a, address } = stage.pair();
      await stage.world.befall('refusedConnection');
      expect((await expectKind(stage.provider.assignRoutedIP(address, a, failover), 'Unavailable')).unknownOutcome).toBe(false);
      await stage.world.heal();
      expect(stage.world.inspect(address)).toMatchObject({ providerID: null });
    });
  });

  describe('unassigning', () => {
    test('detaches the address, and once more is harmless', async () => {
      const { a } = stage.pair();
      const held = stage.address(a);
      await stage.provider.unassignRoutedIP(held, failover);
      await stage.world.settle();
      expect(stage.world.inspect(held)).toMatchObject({ providerID: null });
      await stage.provider.unassignRoutedIP(held, failover);
    });
  });
}
