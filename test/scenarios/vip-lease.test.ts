import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createNamespace } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { type Vips, vipStage } from '../e2e/vip-objects.ts';
import { objectsIn } from '../support/kube-apply.ts';
import type { Operator } from '../support/operator.ts';

const RIGHTS = join(import.meta.dirname, '../../deploy/components/vip-allocator/lease.yaml');
const LEASE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: 'vip-allocator-operator', name: '88cd116a.org' };
const FLAGS = [`--vip-lease=${LEASE.namespace}/${LEASE.name}`];
const OTHER = 'vip-allocator-operator-5d4f8_a0c1';
const WAITS = 'leaves Services and IPs to another allocator';

/** The other allocator takes its Lease, and for the length of a test nobody has to see it renewed; with an empty name it gives it up, as it does when it ends. */
async function heldBy({ client }: Vips, holderIdentity: string): Promise<void> {
  const now = new Date().toISOString().replace('Z', '000Z');
  const leaseDurationSeconds = holderIdentity === '' ? 1 : 3600;
  await client.patch(LEASE, { spec: { holderIdentity, leaseDurationSeconds, acquireTime: now, renewTime: now } });
}

const holderOf = async ({ client }: Vips): Promise<unknown> =>
  ((await client.get(LEASE)).spec as { holderIdentity?: unknown } | undefined)?.holderIdentity;

/** An installation of that allocator: a Service that it has served, and one that has come since. */
async function leftByAllocator(vips: Vips): Promise<void> {
  const { client } = vips;
  await createNamespace(client, LEASE.namespace).catch(() => undefined);
  for (const object of objectsIn(RIGHTS)) await client.create(object as unknown as JsonObject).catch(() => undefined);
  const { name, namespace, ...lease } = LEASE;
  await client.create({ ...lease, metadata: { name, namespace }, spec: {} }).catch(() => undefined);
  await heldBy(vips, OTHER);
  await vips.group('group', '10.6.0.0/29');
  await vips.service('served', {}, { finalizers: ['ips.paas.org/finalizer'] });
  await client.create({
    apiVersion: 'paas.org/v1',
    kind: 'IP',
    metadata: { name: '10.6.0.0', labels: { ipgroup: 'group' }, annotations: { 'virtualips.paas.il/owner': 'default/served' } },
  });
  await vips.setIngress('served', [{ ip: '10.6.0.0' }]);
  await vips.service('waits');
}

const waits = (vips: Vips, operator: Operator): Promise<void> =>
  vips.until('it waits', async () => operator.log.some(({ msg }) => msg === WAITS) && (await operator.metrics('/readyz')).status === 200);

describe('the VIP allocator', () => {
  const { vips: current } = vipStage();

  test('is left alone while it holds its Lease, taken over without a write that is not needed, and given its Services back', async () => {
    const vips = current();
    await leftByAllocator(vips);
    const versions = async () =>
      Object.fromEntries(
        (await vips.client.list('v1', 'Service', { namespace: 'default' })).map(({ metadata }) => [
          metadata.name,
          metadata.resourceVersion,
        ]),
      );
    const before = await versions();
    const first = await vips.start(FLAGS);
    await waits(vips, first);
    expect([await versions(), await vips.reserved(), await vips.groupStatus('group')]).toEqual([
      before,
      { '10.6.0.0': 'default/served' },
      null,
    ]);
    expect(await holderOf(vips)).toBe(OTHER);

    await heldBy(vips, '');
    await vips.listing('waits', '10.6.0.1');
    await vips.until('the group is counted', async () => (await vips.groupStatus('group'))?.allocated === 2);
    const [was, is] = [before, await versions()];
    expect(is.served).toBe(was.served);
    expect(await vips.reserved()).toEqual({ '10.6.0.0': 'default/served', '10.6.0.1': 'default/waits' });
    expect(await holderOf(vips)).toBe('routedip-operator_routedip-operator');

    await heldBy(vips, OTHER);
    expect(await first.exited).toBe(1);
    expect(first.log.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ msg: 'cannot run', error: expect.stringContaining(`${OTHER} has taken the Lease`) }),
    ]);
    // What the other one finds: the address has its IP with owner and group, and its Service the finalizer that both know, and nothing else.
    const { metadata } = await vips.client.get({ apiVersion: 'paas.org/v1', kind: 'IP', name: '10.6.0.1' });
    expect([metadata.labels, metadata.annotations]).toEqual([
      { ipgroup: 'group' },
      expect.objectContaining({ 'virtualips.paas.il/owner': 'default/waits' }),
    ]);
    expect((await vips.find('waits'))?.metadata.finalizers).toEqual(['ips.paas.org/finalizer']);
    await vips.service('late');
    const left = await versions();
    const second = await vips.start(FLAGS);
    await waits(vips, second);
    expect(await second.stop()).toBe(0);
    expect([await versions(), await vips.listed('late'), await holderOf(vips)]).toEqual([left, '', OTHER]);
    expect(await vips.reserved()).toEqual({ '10.6.0.0': 'default/served', '10.6.0.1': 'default/waits' });
  });
});
