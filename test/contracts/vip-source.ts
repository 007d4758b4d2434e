import { describe, expect, test } from 'vitest';
import { parseAddress } from '../../machines/model/address.ts';
import type { Address } from '../../machines/model/types.ts';
import { waitFor } from '../support/wait-for.ts';
import { TestFence, type VipHarness, VipRecorder } from './vip-harness.ts';

const GROUP = { segment: '198.51.100.128/29', excludedIPs: ['198.51.100.128'] };

const address = (text: string): Address => {
  const parsed = parseAddress(text);
  if (parsed === null) throw new Error(`${text} is no address`);
  return parsed;
};

/** What every `VipSource` does; the definitions are installed. */
export const vipSourceContract = (open: () => Promise<VipHarness>): void => {
  const watching = async () => {
    const cluster = await open();
    const recorder = new VipRecorder();
    const source = cluster.source();
    return { cluster, recorder, source };
  };

  describe('a source of Services, groups and IPs', () => {
    test('has told everything when it says so, Services of other types not', async () => {
      const { cluster, recorder, source } = await watching();
      await cluster.setGroup('told-a', GROUP);
      const ref = await cluster.createService('told', { requestedIP: '198.51.100.129', pinnedGroup: 'told-a' });
      await cluster.createService('inner', { type: 'ClusterIP' });
      await cluster.createIP('198.51.100.129', `${ref.namespace}/told`);
      await source.start(recorder);
      expect(recorder.synced).toBe(1);
      expect(recorder.told.at(-1)).toBe('synced');
      expect(recorder.services.get('told')).toMatchObject({
        ref,
        wanting: true,
        guarded: false,
        deleting: false,
        ingress: [],
        loadBalancerIP: '',
        requestedIP: '198.51.100.129',
        pinnedGroup: 'told-a',
      });
      // Servers that know one family alone do not say which.
      expect([4, null]).toContain(recorder.services.get('told')?.family);
      expect([...recorder.services.keys()]).not.toContain('inner');
      expect(recorder.groups.get('told-a')).toMatchObject({ ref: { kind: 'IPGroup', namespace: '' }, spec: GROUP, deleting: false });
      expect(recorder.ips.get(address('198.51.100.129'))).toMatchObject({
        owner: { namespace: ref.namespace, name: 'told', uid: null },
        group: 'a',
        legacy: false,
      });
      await cluster.removeIP('198.51.100.129');
      await cluster.removeGroup('told-a');
      await waitFor(
        'both are told gone',
        () => recorder.told.includes('ip gone 198.51.100.129') && recorder.told.includes('group gone told-a'),
      );
    });

    test('tells of a Service while it wants an address or bears our finalizer, and then as gone', async () => {
      const { cluster, recorder, source } = await watching();
      const { writer } = cluster;
      await source.start(recorder);
      const ref = await cluster.createService('passing', { type: 'ClusterIP' });
      await cluster.setType(ref, 'LoadBalancer');
      await waitFor('it is told', () => recorder.services.get('passing')?.wanting === true);
      await writer.guard(ref, new TestFence());
      await waitFor('its finalizer is told', () => recorder.services.get('passing')?.guarded === true);
      await writer.publish(ref, address('198.51.100.130'), new TestFence());
      await waitFor('its ingress is told', () => recorder.services.get('passing')?.ingress[0]?.ip === '198.51.100.130');
      await cluster.setType(ref, 'ClusterIP');
      await waitFor('its type is told', () => recorder.services.get('passing')?.wanting === false);
      expect(recorder.services.get('passing')?.guarded).toBe(true);
      await writer.unguard(ref, new TestFence());
      await waitFor('it is told gone', () => !recorder.services.has('passing'));
      expect(recorder.told).toContain(`service gone passing ${ref.uid}`);
    });

    test('tells of a Service that was made anew as of another one', async () => {
      const { cluster, recorder, source } = await watching();
      await source.start(recorder);
      const old = await cluster.createService('anew');
      await cluster.deleteService(old);
      const ref = await cluster.createService('anew');
      await waitFor('the new one is told', () => recorder.services.get('anew')?.ref.uid === ref.uid);
      expect(recorder.told).toContain(`service gone anew ${old.uid}`);
    });

    test('tells everything again when it is asked to', async () => {
      const { cluster, recorder, source } = await watching();
      await cluster.createService('again');
      await source.start(recorder);
      const before = recorder.told.length;
      expect(before).toBeGreaterThan(1);
      const again = (): readonly string[] => recorder.told.slice(before);
      source.resync();
      await waitFor('all is told again', () => again().at(-1) === 'synced');
      expect(again()).toContain('service again');
    });

    test('tells of an IPv6 address, of one that a VirtualIP holds, and of none that its name is not', async () => {
      const { cluster, recorder, source } = await watching();
      await source.start(recorder);
      await cluster.createIP('2001-0db8-0000-0000-0000-0000-0000-00aa', 'somebody/else');
      await cluster.createIP('198.51.100.131', 'somebody/else', 'gsm');
      await waitFor('both are told', () => recorder.ips.has(address('2001:db8::aa')) && recorder.ips.has(address('198.51.100.131')));
      expect(recorder.ips.get(address('2001:db8::aa'))).toMatchObject({ legacy: false, group: 'a' });
      expect(recorder.ips.get(address('198.51.100.131'))).toMatchObject({ legacy: true, group: null });
      for (const name of ['2001-0db8-0000-0000-0000-0000-0000-00aa', '198.51.100.131']) await cluster.removeIP(name);
    });

    test('tells nothing once it is closed', async () => {
      const { cluster, recorder, source } = await watching();
      await source.start(recorder);
      await source.close();
      const before = recorder.told.length;
      const other = cluster.source();
      const witness = new VipRecorder();
      await other.start(witness);
      await cluster.createService('unheard');
      await waitFor('another one hears of it', () => witness.services.has('unheard'));
      expect(recorder.told).toHaveLength(before);
    });
  });
};
