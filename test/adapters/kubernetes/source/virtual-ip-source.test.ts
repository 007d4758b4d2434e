import { describe, expect, onTestFinished, test } from 'vitest';
import type { VirtualIPListener } from '../../../../actors/ports/migration.ts';
import { lookAround } from '../../../../actors/vip/observe-migration.ts';
import { KubernetesVirtualIPSource } from '../../../../adapters/kubernetes/source/virtual-ip-source.ts';
import { systemClock } from '../../../../adapters/system/clock.ts';
import type { VirtualIP } from '../../../../machines/vip/virtualip.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { connected, QUICK, recordedLog } from '../support.ts';
import { type LegacyCluster, legacyCluster, validVirtualIP } from '../writer/migration-support.ts';

class Told implements VirtualIPListener {
  readonly vips = new Map<string, VirtualIP>();
  readonly lines: string[] = [];

  virtualIPObserved(vip: VirtualIP): void {
    this.lines.push(`observed ${vip.ref.name}`);
    this.vips.set(vip.ref.name, vip);
  }

  virtualIPGone({ name }: VirtualIP['ref']): void {
    this.lines.push(`gone ${name}`);
    this.vips.delete(name);
  }

  readonly touched: string[] = [];

  serviceTouched({ name }: { readonly name: string }): void {
    this.touched.push(name);
  }

  virtualIPsSynced(): void {
    this.lines.push('synced');
  }
}

const watching = async ({ simulator }: LegacyCluster) => {
  const connection = connected(simulator.kubeconfig());
  const source = new KubernetesVirtualIPSource({ connection, clock: systemClock(), random: () => 0.5, log: recordedLog(), timings: QUICK });
  onTestFinished(() => source.close());
  const told = new Told();
  await source.start(told);
  return { source, told };
};

describe('the watch of VirtualIPs', () => {
  test('tells those that are there, what becomes of them, and that it has told all', async () => {
    const { cluster, annotate, remove, patch } = await validVirtualIP();
    const { told, source } = await watching(cluster);
    expect(told.lines).toEqual(['observed vip', 'synced']);
    expect(told.vips.get('vip')).toMatchObject({
      asked: false,
      deleting: false,
      service: 'web',
      status: { state: 'Valid', ip: '1.1.2.2' },
    });
    annotate('vip');
    await waitFor('the annotation', () => told.vips.get('vip')?.asked === true);
    source.resync();
    expect(told.lines).toEqual(['observed vip', 'synced', 'observed vip', 'observed vip', 'synced']);
    await waitFor('all Services', () => told.touched.includes('web') && told.touched.includes('vip-keepalived-clone'));
    told.touched.length = 0;
    patch('Service', 'web', { metadata: { labels: { l: 'l1' } } });
    await waitFor('a Service of any type that changes', () => told.touched.includes('web'));
    remove('VirtualIP', 'vip');
    await waitFor('the deletion', () => told.vips.get('vip')?.deleting === true);
    patch('VirtualIP', 'vip', { metadata: { finalizers: null } });
    await waitFor('the end', () => told.vips.size === 0);
  });

  test('keeps nobody waiting where there are none, and tells those of a kind that is installed later', async () => {
    const bare = await legacyCluster({ crds: ['crds/ips.yaml'] });
    const { told } = await watching(bare);
    expect(told.lines).toEqual([]);
    const { simulator } = await legacyCluster();
    const definition = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name: 'virtualips.paas.org' };
    const { spec } = simulator.store.get(definition);
    bare.store.create({
      apiVersion: definition.apiVersion,
      kind: definition.kind,
      metadata: { name: definition.name },
      spec: spec ?? null,
    });
    await waitFor('the kind', () => told.lines.includes('synced'));
    expect(told.touched).toEqual([]);
  });
});

test('a VirtualIP is told of its Service, its copy and its group', async () => {
  const { cluster, writer, actor, patch, remove } = await validVirtualIP();
  const { told } = await watching(cluster);
  const vip = told.vips.get('vip');
  if (!vip) throw new Error('the VirtualIP was not told');
  const ip = (await writer.ips())[0] ?? null;
  const look = async () => lookAround(writer, vip, { ip, groups: await writer.groups() });
  const service = { type: 'ClusterIP', ingress: [], loadBalancerIP: '' };
  expect(await look()).toEqual({ service, clone: 'current', owner: 'VirtualIP', group: 'ipgroup-2', rival: null });
  expect(await look()).toEqual(actor.context.around);
  patch('Service', 'web', { metadata: { labels: { l: 'l1' }, annotations: { 'virtualips.paas.org/migrating': 'other' } } });
  expect(await look()).toMatchObject({ clone: 'drifted', rival: 'other' });
  remove('Service', 'web');
  expect(await look()).toMatchObject({ service: null, clone: 'drifted' });
  remove('Service', 'vip-keepalived-clone');
  expect(await look()).toMatchObject({ clone: 'missing' });
});
