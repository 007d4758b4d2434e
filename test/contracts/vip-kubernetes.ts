import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Connection } from '../../adapters/kubernetes/client/connection.ts';
import { KubernetesVipSource, type VipSourceOptions } from '../../adapters/kubernetes/source/vip-source.ts';
import { KubernetesVipWriter } from '../../adapters/kubernetes/writer/vip-writer.ts';
import { systemClock } from '../../adapters/system/clock.ts';
import type { ObjectRef } from '../../machines/model/types.ts';
import type { ClientRef, KubeClient } from '../../simulator/kubernetes/client.ts';
import { at, type Json, type JsonObject, type KubeObject } from '../../simulator/kubernetes/objects.ts';
import { QUICK, recordedLog } from '../adapters/kubernetes/support.ts';
import type { VipHarness } from './vip-harness.ts';

const CRDS = join(import.meta.dirname, '../../crds');
export const VIP_CRDS: readonly string[] = ['ipgroups', 'ips'].map((plural) => join(CRDS, `${plural}.yaml`));

const API = 'paas.org/v1';
const OWNER = 'virtualips.paas.il/owner';

const serviceRef = ({ namespace, name }: ObjectRef): ClientRef => ({ apiVersion: 'v1', kind: 'Service', namespace, name });
const ipRef = (name: string): ClientRef => ({ apiVersion: API, kind: 'IP', name });
const groupRef = (name: string): ClientRef => ({ apiVersion: API, kind: 'IPGroup', name });

const bare = (object: JsonObject): JsonObject => {
  const filled = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(filled) as JsonObject;
};

const finalizersOf = (object: KubeObject): readonly string[] => object.metadata.finalizers ?? [];

/** A source of this cluster, not yet started, that ends with the test. */
export const vipSourceOn = (connection: Connection, options: Partial<VipSourceOptions> = {}): KubernetesVipSource => {
  const source = new KubernetesVipSource({
    connection,
    clock: systemClock(),
    random: Math.random,
    log: recordedLog(),
    timings: QUICK,
    loadBalancerClass: null,
    ...options,
  });
  onTestFinished(() => source.close());
  return source;
};

/** A cluster behind HTTP: a person goes by `client`, the operator by `connection`. All Services are in `namespace`. */
export const kubernetesVips = (
  client: KubeClient,
  connection: Connection,
  { namespace, wipesIngress }: { readonly namespace: string; readonly wipesIngress: boolean },
): VipHarness => ({
  wipesIngress,
  writer: new KubernetesVipWriter({ connection, clock: systemClock(), loadBalancerClass: null }),
  source: () => vipSourceOn(connection),
  createService: async (name, { type = 'LoadBalancer', loadBalancerIP, requestedIP, pinnedGroup } = {}) => {
    const annotations = bare({ 'ips.paas.org/requested-ip': requestedIP, 'ips.paas.org/ipgroup': pinnedGroup } as JsonObject);
    const spec = bare({ type, loadBalancerIP, ports: [{ port: 80 }] } as JsonObject);
    const { metadata } = await client.create({ apiVersion: 'v1', kind: 'Service', metadata: { namespace, name, annotations }, spec });
    return { kind: 'Service', namespace, name, uid: metadata.uid ?? '' };
  },
  setType: async (ref, type) => void (await client.patch(serviceRef(ref), { spec: { type } })),
  setIngress: async (ref, ingress) => {
    const entries = ingress.map(({ ip }) => (ip === null ? { hostname: 'lb.example.com' } : { ip }));
    await client.patch(serviceRef(ref), { status: { loadBalancer: { ingress: entries } } }, { subresource: 'status' });
  },
  deleteService: (ref) => client.delete(serviceRef(ref)),
  setFinalizers: async (ref, finalizers) => void (await client.patch(serviceRef(ref), { metadata: { finalizers: [...finalizers] } })),
  finalizers: async (ref) => finalizersOf(await client.get(serviceRef(ref))),
  setGroup: async (name, spec) => {
    await client.create({ apiVersion: API, kind: 'IPGroup', metadata: { name }, spec: spec as unknown as Json });
  },
  removeGroup: (name) => client.delete(groupRef(name)),
  createIP: async (name, owner, label = 'ipgroup') => {
    await client.create({ apiVersion: API, kind: 'IP', metadata: { name, labels: { [label]: 'a' }, annotations: { [OWNER]: owner } } });
  },
  removeIP: (name) => client.delete(ipRef(name)),
  ips: async () => {
    const found = await client.list(API, 'IP');
    return Object.fromEntries(found.map((ip) => [ip.metadata.name ?? '', String(at(ip, 'metadata', 'annotations', OWNER) ?? '')]));
  },
});
