import { describe, expect, test } from 'vitest';
import { Fenced } from '../../actors/ports/errors.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { Address, ObjectRef } from '../../machines/model/types.ts';
import { TestFence, type VipHarness, VipRecorder } from './vip-harness.ts';

const address = (text: string): Address => {
  const parsed = parseAddress(text);
  if (parsed === null) throw new Error(`${text} is no address`);
  return parsed;
};

const routedIP = (name: string, uid = `uid-of-${name}`): ObjectRef => ({ kind: 'RoutedIP', namespace: 'web', name, uid });

/** What every `VipWriter` does for RoutedIPs. Addresses and names are this test's own. */
export const groupAddressesContract = (open: () => Promise<VipHarness>): void => {
  describe('an address of an IPGroup for a RoutedIP', () => {
    test('is its, may be asked for again, and is found by its uid alone', async () => {
      const { writer } = await open();
      const [ref, fence] = [routedIP('has'), new TestFence()];
      const offer = { address: address('198.51.100.40'), group: 'a' };
      const ip = await writer.hold(offer, ref, 'Delete', fence);
      const { namespace, name, uid } = ref;
      expect(ip).toMatchObject({ ...offer, name: '198.51.100.40', owner: { namespace, name, uid }, legacy: false, reclaim: 'Delete' });
      expect(await writer.hold(offer, ref, 'Delete', fence)).toEqual(ip);
      expect(await writer.held(ref)).toEqual([ip]);
      expect(await writer.held(routedIP('has', 'another-uid'))).toEqual([]);
      await writer.free(ip, fence);
      expect(await writer.held(ref)).toEqual([]);
      await writer.free(ip, fence);
      expect(fence.asserted).toBe(fence.reads);
    });

    test('is nobody else’s: no Service’s of the same name, and no other RoutedIP’s; nor is a Service’s its', async () => {
      const { writer, ...cluster } = await open();
      const service = await cluster.createService('same');
      const ref: ObjectRef = { ...service, kind: 'RoutedIP' };
      const ip = await writer.hold({ address: address('198.51.100.41'), group: 'a' }, ref, 'Delete', new TestFence());
      const conflict = { name: 'ProviderError', kind: 'Conflict' };
      await expect(writer.reserve(ip.address, 'a', service, new TestFence())).rejects.toMatchObject(conflict);
      await expect(writer.hold({ address: ip.address, group: 'a' }, routedIP('other'), 'Delete', new TestFence())).rejects.toMatchObject(
        conflict,
      );
      const reserved = await writer.reserve(address('198.51.100.42'), 'a', service, new TestFence());
      await expect(writer.hold({ address: reserved.address, group: 'a' }, ref, 'Delete', new TestFence())).rejects.toMatchObject(conflict);
      expect(await writer.held(ref)).toEqual([ip]);
      for (const each of [ip, reserved]) await writer.free(each, new TestFence());
    });

    test('that is kept is freed by nobody who knew it before, and is for a RoutedIP of that name', async () => {
      const { writer } = await open();
      const [former, next] = [routedIP('kept', 'former'), routedIP('kept', 'next')];
      const offer = { address: address('198.51.100.43'), group: 'a' };
      const ip = await writer.hold(offer, former, 'Delete', new TestFence());
      await expect(writer.hold(offer, next, 'Retain', new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      await writer.keep(ip, new TestFence());
      await writer.free(ip, new TestFence());
      expect(await writer.held(former)).toEqual([{ ...ip, reclaim: 'Retain' }]);
      await expect(writer.hold(offer, routedIP('other'), 'Retain', new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      const taken = await writer.hold(offer, next, 'Delete', new TestFence());
      expect(taken).toMatchObject({ uid: ip.uid, owner: { uid: 'next' }, reclaim: 'Delete' });
      expect([await writer.held(former), await writer.held(next)]).toEqual([[], [taken]]);
      await writer.free(taken, new TestFence());
    });

    test('is neither reserved nor kept by who may not write any more', async () => {
      const { writer } = await open();
      const [ref, closed] = [routedIP('late'), new TestFence()];
      closed.closed = new Fenced('over');
      const offer = { address: address('198.51.100.44'), group: 'a' };
      await expect(writer.hold(offer, ref, 'Delete', closed)).rejects.toBeInstanceOf(Fenced);
      expect(await writer.held(ref)).toEqual([]);
      const ip = await writer.hold(offer, ref, 'Delete', new TestFence());
      await expect(writer.keep(ip, closed)).rejects.toBeInstanceOf(Fenced);
      expect(await writer.held(ref)).toEqual([ip]);
      await writer.free(ip, new TestFence());
    });

    test('is told to those who watch as what it is; a RoutedIP that is not there is looked for in vain', async () => {
      const { writer, ...cluster } = await open();
      const ip = await writer.hold({ address: address('198.51.100.45'), group: 'a' }, routedIP('seen'), 'Retain', new TestFence());
      const recorder = new VipRecorder();
      const source = cluster.source();
      await source.start(recorder);
      expect(recorder.ips.get(ip.address)).toEqual(ip);
      await source.close();
      expect(await writer.look({ kind: 'RoutedIP', namespace: 'web', name: 'seen' })).toBeNull();
      await writer.free(ip, new TestFence());
    });
  });
};
