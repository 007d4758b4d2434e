import { describe, expect, test } from 'vitest';
import { Fenced } from '../../actors/ports/errors.ts';
import { parseAddress } from '../../machines/model/address.ts';
import type { Address } from '../../machines/model/types.ts';
import { ipNameOf, VIP_FINALIZER } from '../../machines/vip/objects.ts';
import { TestFence, type VipHarness } from './vip-harness.ts';

const address = (text: string): Address => {
  const parsed = parseAddress(text);
  if (parsed === null) throw new Error(`${text} is no address`);
  return parsed;
};

const OTHER = 'example.com/other';

/** What every `VipWriter` does. `open` gives a cluster; names and addresses are this test's own. */
export const vipWriterContract = (open: () => Promise<VipHarness>): void => {
  describe('a guarded Service', () => {
    test('bears our finalizer beside those of others, and loses ours alone', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('guarded');
      await cluster.setFinalizers(ref, [OTHER]);
      const fence = new TestFence();
      await writer.guard(ref, fence);
      expect(await cluster.finalizers(ref)).toEqual([OTHER, VIP_FINALIZER]);
      expect(fence).toMatchObject({ reads: 1, asserted: 1 });
      await writer.guard(ref, fence);
      expect(fence.asserted).toBe(1);
      await writer.unguard(ref, fence);
      expect(await cluster.finalizers(ref)).toEqual([OTHER]);
      await writer.unguard(ref, fence);
      expect(fence.asserted).toBe(2);
      await cluster.setFinalizers(ref, []);
    });

    test('stays until our finalizer goes, and then is gone', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('held');
      await writer.guard(ref, new TestFence());
      await cluster.deleteService(ref);
      expect(await writer.look(ref)).toMatchObject({ ref, deleting: true, guarded: true });
      await writer.guard(ref, new TestFence());
      await writer.unguard(ref, new TestFence());
      expect(await writer.look(ref)).toBeNull();
      await writer.unguard(ref, new TestFence());
    });

    test('is not one that is being deleted without our finalizer, nor one that is gone, nor another of its name', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('going');
      await cluster.setFinalizers(ref, [OTHER]);
      await cluster.deleteService(ref);
      const fence = new TestFence();
      await expect(writer.guard(ref, fence)).rejects.toMatchObject({ name: 'ProviderError', kind: 'Conflict' });
      await cluster.setFinalizers(ref, []);
      expect(await writer.look(ref)).toBeNull();
      await expect(writer.guard(ref, fence)).rejects.toMatchObject({ kind: 'NotFound' });
      const again = await cluster.createService('going');
      expect(again.uid).not.toBe(ref.uid);
      await expect(writer.guard(ref, fence)).rejects.toMatchObject({ kind: 'NotFound' });
      expect(fence.asserted).toBe(0);
    });

    test('of the same name as one that was is left as it is', async () => {
      const { writer, ...cluster } = await open();
      const old = await cluster.createService('remade');
      await cluster.deleteService(old);
      const ref = await cluster.createService('remade');
      await writer.guard(ref, new TestFence());
      await writer.unguard(old, new TestFence());
      expect(await cluster.finalizers(ref)).toEqual([VIP_FINALIZER]);
      await writer.unguard(ref, new TestFence());
    });
  });

  describe('a reservation', () => {
    test.each(['198.51.100.1', '2001:db8::1'])('of %s is the Service’s, and may be repeated', async (text) => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('reserving');
      const fence = new TestFence();
      const ip = await writer.reserve(address(text), 'a', ref, fence);
      const { namespace, name, uid } = ref;
      expect(ip).toMatchObject({
        name: ipNameOf(address(text)),
        address: text,
        owner: { namespace, name, uid },
        group: 'a',
        legacy: false,
      });
      expect(await cluster.ips()).toMatchObject({ [ip.name]: `${namespace}/${name}` });
      expect(await writer.reserve(address(text), 'a', ref, fence)).toEqual(ip);
      await writer.free(ip, fence);
      expect(Object.keys(await cluster.ips())).not.toContain(ip.name);
      await writer.free(ip, fence);
      expect(fence.asserted).toBe(fence.reads);
    });

    test('is refused of an address that is another’s, or a VirtualIP’s of the same name', async () => {
      const { writer, ...cluster } = await open();
      const [first, second] = [await cluster.createService('first'), await cluster.createService('second')];
      const ip = await writer.reserve(address('198.51.100.2'), 'a', first, new TestFence());
      await expect(writer.reserve(address('198.51.100.2'), 'a', second, new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      await cluster.createIP('198.51.100.3', `${second.namespace}/second`, 'gsm');
      await expect(writer.reserve(address('198.51.100.3'), 'a', second, new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      await writer.free(ip, new TestFence());
      await cluster.removeIP('198.51.100.3');
    });

    test('is refused of the address of a Service of the same name that was', async () => {
      const { writer, ...cluster } = await open();
      const old = await cluster.createService('heir');
      const ip = await writer.reserve(address('198.51.100.4'), 'a', old, new TestFence());
      await cluster.deleteService(old);
      const ref = await cluster.createService('heir');
      await expect(writer.reserve(address('198.51.100.4'), 'a', ref, new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      await writer.free(ip, new TestFence());
    });

    test('that was made before uids were noted is taken as it is', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('veteran');
      await cluster.createIP('198.51.100.5', `${ref.namespace}/veteran`);
      const ip = await writer.reserve(address('198.51.100.5'), 'a', ref, new TestFence());
      expect(ip).toMatchObject({ owner: { namespace: ref.namespace, name: 'veteran', uid: null }, group: 'a' });
      await writer.free(ip, new TestFence());
      expect(Object.keys(await cluster.ips())).not.toContain('198.51.100.5');
    });

    test('of two who ask at once, one has it', async () => {
      const { writer, ...cluster } = await open();
      const names = ['racer-a', 'racer-b', 'racer-c'];
      const refs = await Promise.all(names.map((name) => cluster.createService(name)));
      const tries = await Promise.allSettled(refs.map((ref) => writer.reserve(address('198.51.100.6'), 'a', ref, new TestFence())));
      const had = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      expect(had).toHaveLength(1);
      for (const each of tries) if (each.status === 'rejected') expect(each.reason).toMatchObject({ kind: 'Conflict' });
      for (const ip of had) await writer.free(ip, new TestFence());
    });
  });

  describe('an address', () => {
    test('bears the label of the group that it is said to be of, as long as it is that object and still its owner’s', async () => {
      const { writer, ...cluster } = await open();
      const [mine, other] = [await cluster.createService('regrouped'), await cluster.createService('follower')];
      const [at, fence] = [address('198.51.100.13'), new TestFence()];
      const ip = await writer.reserve(at, 'a', mine, new TestFence());
      await writer.regroup(ip, 'b', fence);
      const labelled = await writer.reserve(at, 'a', mine, new TestFence());
      expect(labelled).toEqual({ ...ip, group: 'b' });
      expect([fence.reads, fence.asserted]).toEqual([1, 1]);
      // Nothing is to be done, and nothing is sent.
      await writer.regroup(labelled, 'b', fence);
      await cluster.removeIP(ip.name);
      await writer.regroup(ip, 'c', fence);
      const theirs = await writer.reserve(at, 'a', other, new TestFence());
      await writer.regroup(ip, 'c', fence);
      expect(fence.asserted).toBe(1);
      expect(await writer.reserve(at, 'a', other, new TestFence())).toEqual(theirs);
      await writer.free(theirs, new TestFence());
    });

    test('is not freed for who has lost it: another holds it, or it was reserved anew', async () => {
      const { writer, ...cluster } = await open();
      const [mine, other] = [await cluster.createService('loser'), await cluster.createService('winner')];
      const ip = await writer.reserve(address('198.51.100.7'), 'a', mine, new TestFence());
      await cluster.removeIP(ip.name);
      const theirs = await writer.reserve(address('198.51.100.7'), 'a', other, new TestFence());
      const fence = new TestFence();
      await writer.free(ip, fence);
      expect(await cluster.ips()).toMatchObject({ [ip.name]: `${other.namespace}/winner` });
      await writer.free({ ...theirs, owner: { namespace: mine.namespace, name: mine.name, uid: mine.uid } }, fence);
      expect(await cluster.ips()).toMatchObject({ [ip.name]: `${other.namespace}/winner` });
      expect(fence.asserted).toBe(0);
      await writer.free(theirs, fence);
      expect(Object.keys(await cluster.ips())).not.toContain(ip.name);
    });
  });

  describe('what is said of a Service that somebody else serves', () => {
    test('stands beside the conditions of others, is written once, and goes alone', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('contended');
      await cluster.setIngress(ref, [{ ip: '192.0.2.1' }]);
      expect((await writer.look(ref))?.contended).toBeUndefined();
      const fence = new TestFence();
      await writer.contend(ref, 'it is left', fence);
      await writer.contend(ref, 'it is left', fence);
      expect([(await writer.look(ref))?.contended, fence.asserted]).toEqual(['it is left', 1]);
      await writer.contend(ref, 'for another reason', fence);
      expect(await writer.look(ref)).toMatchObject({ contended: 'for another reason', ingress: [{ ip: '192.0.2.1' }] });
      await writer.contend(ref, null, fence);
      await writer.contend(ref, null, fence);
      expect([(await writer.look(ref))?.contended, fence.asserted]).toEqual([undefined, 3]);
    });

    test('is who wrote the ingress: nobody where that is us, or nothing is listed', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('written', { loadBalancerIP: '198.51.100.18' });
      expect(await writer.look(ref)).not.toHaveProperty('by');
      await cluster.setIngress(ref, [{ ip: '192.0.2.1' }]);
      expect(await writer.look(ref)).toHaveProperty('by');
      // What else we write in the status leaves that to him.
      await writer.contend(ref, 'it is left', new TestFence());
      expect(await writer.look(ref)).toHaveProperty('by');
      await writer.publish(ref, address('198.51.100.18'), new TestFence());
      expect(await writer.look(ref)).not.toHaveProperty('by');
    });

    test('is nothing of one that is gone', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('left');
      await cluster.deleteService(ref);
      await expect(writer.contend(ref, 'it is left', new TestFence())).rejects.toMatchObject({ kind: 'NotFound' });
    });
  });

  describe('a published address', () => {
    test('is all that the ingress lists, and is written once', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('published', { loadBalancerIP: '198.51.100.8' });
      await cluster.setIngress(ref, [{ ip: null }, { ip: '192.0.2.1' }]);
      expect((await writer.look(ref))?.ingress).toEqual([{ ip: null }, { ip: '192.0.2.1' }]);
      const fence = new TestFence();
      expect(await writer.publish(ref, address('198.51.100.8'), fence)).toBe(true);
      expect(await writer.look(ref)).toMatchObject({ wanting: true, loadBalancerIP: '198.51.100.8', ingress: [{ ip: '198.51.100.8' }] });
      expect(await writer.publish(ref, address('198.51.100.8'), fence)).toBe(false);
      expect(await writer.publish(ref, null, fence)).toBe(true);
      expect((await writer.look(ref))?.ingress).toEqual([]);
      expect(await writer.publish(ref, null, fence)).toBe(false);
      expect(fence).toMatchObject({ reads: 2, asserted: 2 });
    });

    test('of a Service that leaves type LoadBalancer goes, by the server where it wipes it, else by us', async () => {
      const { writer, wipesIngress, ...cluster } = await open();
      const ref = await cluster.createService('leaving');
      await writer.guard(ref, new TestFence());
      await writer.publish(ref, address('198.51.100.9'), new TestFence());
      await cluster.setType(ref, 'ClusterIP');
      expect(await writer.look(ref)).toMatchObject({ wanting: false, guarded: true });
      expect((await writer.look(ref))?.ingress).toEqual(wipesIngress ? [] : [{ ip: '198.51.100.9' }]);
      expect(await writer.publish(ref, null, new TestFence())).toBe(!wipesIngress);
      expect((await writer.look(ref))?.ingress).toEqual([]);
      await expect(writer.publish(ref, address('198.51.100.9'), new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      await writer.unguard(ref, new TestFence());
    });

    test('is not given to a Service that is being deleted, and is taken off it all the same', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('deleted');
      await writer.guard(ref, new TestFence());
      await cluster.deleteService(ref);
      await expect(writer.publish(ref, address('198.51.100.12'), new TestFence())).rejects.toMatchObject({ kind: 'Conflict' });
      expect(await writer.publish(ref, null, new TestFence())).toBe(false);
      await writer.unguard(ref, new TestFence());
    });

    test('is none of a Service that is gone', async () => {
      const { writer, ...cluster } = await open();
      const ref = await cluster.createService('vanished');
      await cluster.deleteService(ref);
      await expect(writer.publish(ref, address('198.51.100.10'), new TestFence())).rejects.toMatchObject({ kind: 'NotFound' });
      expect(await writer.look(ref)).toBeNull();
    });
  });

  test('a process that may not send changes nothing', async () => {
    const { writer, ...cluster } = await open();
    const ref = await cluster.createService('fenced');
    const ip = await writer.reserve(address('198.51.100.11'), 'a', ref, new TestFence());
    const fence = new TestFence();
    fence.closed = new Fenced('a later term was seen');
    await expect(writer.guard(ref, fence)).rejects.toBe(fence.closed);
    await expect(writer.reserve(address('198.51.100.12'), 'a', ref, fence)).rejects.toBe(fence.closed);
    await expect(writer.publish(ref, address('198.51.100.11'), fence)).rejects.toBe(fence.closed);
    await expect(writer.free(ip, fence)).rejects.toBe(fence.closed);
    expect(fence.reads).toBe(4);
    expect(await cluster.finalizers(ref)).toEqual([]);
    expect((await writer.look(ref))?.ingress).toEqual([]);
    const names = Object.keys(await cluster.ips());
    expect(names).toContain(ip.name);
    expect(names).not.toContain('198.51.100.12');
    await writer.guard(ref, new TestFence());
    await expect(writer.unguard(ref, fence)).rejects.toBe(fence.closed);
    await writer.unguard(ref, new TestFence());
    await writer.free(ip, new TestFence());
  });
};
