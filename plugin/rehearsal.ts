import { charts } from '../actors/catalogue.ts';
import type { Json, Log } from '../actors/ports.ts';
import { DEFAULT_SETTINGS } from '../actors/settings.ts';
import { Supervisor } from '../actors/supervisor.ts';
import { virtualClock } from '../adapters/memory/clock.ts';
import { memoryCluster } from '../adapters/memory/cluster.ts';
import { memoryDirectory } from '../adapters/memory/directory.ts';
import { memoryLease } from '../adapters/memory/leadership.ts';
import { memoryProvider } from '../adapters/memory/provider.ts';
import { memoryQueues } from '../adapters/memory/queues.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import type { ObjectRef } from '../machines/jobs.ts';
import { queryOf } from '../machines/match.ts';
import type { DNSZone, ObservedAddress, ObservedNode, ObservedPod, ObservedService, ProviderID } from '../machines/types.ts';
import type { ProviderFacts } from '../machines/validate.ts';

/** An object of a kind that the operator looks after, or goes by. */
export interface Wish {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly spec: Json;
  /** Those of the group routedip.io; absent for none. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a rehearsal begins with: the cluster and the account as they are now, as far as they are seen. */
export interface Scene {
  readonly nodes: readonly ObservedNode[];
  readonly pods: readonly ObservedPod[];
  /** `namespace/name` → Service. */
  readonly services: ReadonlyMap<string, ObservedService>;
  /** Classes and issuers. */
  readonly policies: readonly Wish[];
  /** Oldest first. */
  readonly wishes: readonly Wish[];
  readonly addresses: readonly Omit<ObservedAddress, 'locked'>[];
  readonly zones: readonly string[];
  readonly firewalls: readonly string[];
}

/** How things are at one time of a rehearsal. */
export interface Snapshot {
  readonly addresses: readonly ObservedAddress[];
  readonly zones: readonly DNSZone[];
  /** What is open in each firewall for somebody. They were empty when the rehearsal began. */
  readonly firewalls: readonly { readonly name: string; readonly ports: readonly string[] }[];
  /** By `Kind namespace/name`: what the operator's status says. */
  readonly status: Readonly<Record<string, Json>>;
  readonly conditions: Readonly<
    Record<string, readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[]>
  >;
}

const PREFIX = 'digitalocean://';
const CAN = { ipv6: true, addressesPerNode: 1, providerIDPrefix: PREFIX, missing: null };
const DIGITALOCEAN: ProviderFacts = { ...CAN, addresses: true, dns: true };
const CLOUDFLARE: ProviderFacts = { ...CAN, addresses: false, dns: true, ipv6: false };

/** So much virtual time passes before the change, and after it: longer than any back-off and most cool-offs. */
const SETTLING_MS = 60_000;
export const REHEARSED_MS = 900_000;

const SILENT: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Runs the operator itself on memory and virtual time, before and after `changes`: nothing outside of this process is asked or changed. */
export async function rehearse(
  scene: Scene,
  changes: readonly Wish[],
  now: number,
): Promise<{ readonly before: Snapshot; readonly after: Snapshot }> {
  const clock = virtualClock({ startAt: now });
  const cluster = memoryCluster({ queryOf });
  const provider = memoryProvider(clock, { name: 'digitalocean', providerIDPrefix: PREFIX, quota: Number.MAX_SAFE_INTEGER });
  const { cloud } = provider;
  for (const { providerID } of scene.nodes) if (providerID) cloud.addNode(providerID as ProviderID);
  for (const { address, region, providerID } of scene.addresses) cloud.addAddress(address, region, providerID);
  for (const zone of scene.zones) cloud.addZone(zone);
  for (const firewall of scene.firewalls) cloud.addFirewall(firewall);
  const known = { facts: DIGITALOCEAN, provider };
  const directory = memoryDirectory({ digitalocean: known, cloudflare: { facts: CLOUDFLARE, provider } });
  // Whatever account a class asks for, what it has is on the same stage.
  const providers = Object.assign(directory, {
    need: (needs: readonly { readonly key: string }[]) => {
      for (const { key } of needs) if (!directory.all[key]) directory.set(key, known);
    },
  });
  cluster.setNode(...scene.nodes);
  cluster.setPod(...scene.pods);
  for (const [key, service] of scene.services) {
    const [namespace = '', name = ''] = key.split('/');
    cluster.setService(namespace, name, service);
  }
  for (const { annotations: _, ...policy } of scene.policies) cluster.setPolicy(policy);
  const refs = new Map<string, ObjectRef>();
  const put = ({ annotations, ...wish }: Wish): void => {
    const ref = cluster.setPool(wish);
    refs.set(keyOf(wish), ref);
    if (annotations && Object.keys(annotations).length > 0) cluster.annotate(ref, annotations);
  };
  for (const wish of scene.wishes) put(wish);
  const process = cluster.process();
  const supervisor = new Supervisor({
    charts: charts(DEFAULT_SETTINGS, () => DIGITALOCEAN.addressesPerNode),
    store: memoryStore(),
    queues: memoryQueues(clock),
    clock,
    log: SILENT,
    probe: () => undefined,
    leadership: memoryLease(clock).contender('rehearsal'),
    source: process,
    writer: process,
    providers,
    observers: [],
    settings: DEFAULT_SETTINGS,
  });
  const snapshot = (): Snapshot => ({
    addresses: cloud.addresses(),
    zones: scene.zones.map((zone) => cloud.zone(zone)),
    firewalls: scene.firewalls.map((name) => ({ name, ports: cloud.findFirewall(name)?.ports ?? [] })),
    status: Object.fromEntries([...refs].map(([key, ref]) => [key, cluster.pool(ref)?.status ?? null])),
    conditions: Object.fromEntries([...refs].map(([key, ref]) => [key, cluster.conditions(ref)])),
  });
  void supervisor.start();
  await clock.advance(SETTLING_MS);
  const before = snapshot();
  for (const change of changes) put(change);
  await clock.advance(REHEARSED_MS);
  return { before, after: snapshot() };
}

export const keyOf = ({ kind, namespace, name }: Omit<Wish, 'spec'>): string => `${kind} ${namespace}/${name}`;
