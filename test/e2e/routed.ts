import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import type { RoutedIPStatus } from '../../crds/generated/routedip.ts';
import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import {
  addFirewall,
  type EventObject,
  HTTP,
  meaningOf,
  NAMESPACE,
  type PodPorts,
  podWith,
  serviceObject,
  sliceOf,
  sliceRef,
} from './routed-objects.ts';
import { staged } from './served.ts';
import { openStage, type Stage, type StageOptions } from './stage.ts';
import { openTarget } from './target.ts';

export const GROUP = 'routedip.io/v1alpha1';
export const CLASS_NAME = 'digitalocean.com/floating-ip';
/** The firewall that the class of these scenarios names; one rule in it is somebody else's. */
export const FIREWALL = 'edge';
/** What the class of these scenarios is called. */
export const CLASS = 'floating';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Routed {
  readonly stage: Stage;
  /** Creates an object, which goes with the test. */
  put(object: JsonObject): Promise<void>;
  /** A firewall at the provider with a rule for SSH. */
  addFirewall(name?: string): Promise<void>;
  /** What the firewall has: `tcp/80` for rules open to everybody, and names of nodes. */
  firewall(name?: string): { readonly ports: readonly string[]; readonly nodes: readonly string[] };
  setClass(name: string, spec?: JsonObject): Promise<void>;
  editClass(name: string, spec: JsonObject): Promise<void>;
  /** A Service, with one port unless others are given, and a ready endpoint on each of the nodes. */
  service(name: string, nodes: readonly string[], ports?: readonly JsonObject[]): Promise<void>;
  editService(name: string, spec: JsonObject): Promise<void>;
  /** Other nodes have the endpoints from now on, ready unless told. */
  endpoints(service: string, nodes: readonly string[], ready?: boolean): Promise<void>;
  /** The Pod behind the endpoint on the node listens like this. */
  pod(node: string, listens: PodPorts): Promise<void>;
  cordon(node: string): Promise<void>;
  routedIP(name: string, spec?: JsonObject): Promise<void>;
  editRoutedIP(name: string, change: JsonObject): Promise<void>;
  deleteRoutedIP(name: string): Promise<void>;
  /** Null when there is none of that name. */
  status(name: string): Promise<RoutedIPStatus | null>;
  /** One condition of the RoutedIP; null when it has none of the type. */
  condition(name: string, type?: string): Promise<Condition | null>;
  /** Resolves once Degraded says this reason, with its message. */
  degraded(name: string, reason: string): Promise<string>;
  /** Resolves with the address once it is Stable, on the node when one is named. */
  stable(name: string, on?: string): Promise<string>;
  /** Reasons of the Events about the object of the name. */
  events(name: string): Promise<readonly string[]>;
  /** `Reason: message` of them. */
  notes(name: string): Promise<readonly string[]>;
  taints(node: string): Promise<readonly string[]>;
  /** Calls that changed something at the provider, in order: `POST /v2/…` by what they mean. */
  changes(since?: number): readonly string[];
  lastCall(): number;
}

/** Registers what `staged` does, with RoutedIPs on each stage. */
export function routedStage(options: StageOptions = {}) {
  const { stage, target, served } = staged(options);
  const held: { routed?: Routed & { close(): Promise<void> } } = {};
  beforeEach(() => {
    held.routed = openRouted(stage());
  });
  afterEach(() => held.routed?.close());
  return {
    target,
    served,
    routed: (): Routed => {
      if (!held.routed) throw new Error('there is nothing routed outside of a test');
      return held.routed;
    },
  };
}

/** Registers one target and one stage for all tests of the file, which go on from where the one before has left it. */
export function routedStageOnce(options: StageOptions = {}): () => Routed {
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });
  const ends: (() => Promise<void>)[] = [];
  const held: { routed?: Routed } = {};
  beforeAll(async () => {
    const target = await openTarget(options);
    ends.push(() => target.close());
    const stage = await openStage(target, options);
    ends.push(() => stage.close());
    const routed = openRouted(stage);
    ends.push(() => routed.close());
    held.routed = routed;
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return () => {
    if (!held.routed) throw new Error('there is nothing routed outside of a test');
    return held.routed;
  };
}

/** RoutedIPs on a stage. `close` takes away what was put there. */
export function openRouted(stage: Stage): Routed & { close(): Promise<void> } {
  const { client } = stage.target;
  const made: ClientRef[] = [];
  const put = async (object: JsonObject): Promise<void> => {
    const { apiVersion, kind, metadata } = object as unknown as ClientRef & {
      readonly metadata: { readonly name: string; readonly namespace?: string };
    };
    made.push({ apiVersion, kind, name: metadata.name, ...(metadata.namespace && { namespace: metadata.namespace }) });
    await client.create(object);
  };
  const ref = (name: string): ClientRef => ({ apiVersion: GROUP, kind: 'RoutedIP', namespace: NAMESPACE, name });
  const status = async (name: string): Promise<RoutedIPStatus | null> => {
    try {
      return ((await client.get(ref(name))) as unknown as { readonly status?: RoutedIPStatus }).status ?? {};
    } catch (error) {
      if (String(error).includes('not found')) return null;
      throw error;
    }
  };
  const condition = async (name: string, type = 'Degraded'): Promise<Condition | null> =>
    ((await status(name))?.conditions ?? []).find((each) => each.type === type) ?? null;
  const eventsOf = async (name: string): Promise<readonly EventObject[]> => {
    const found = (await client.list('v1', 'Event', { namespace: NAMESPACE })) as unknown as readonly EventObject[];
    return found.filter(({ involvedObject }) => involvedObject?.name === name);
  };
  const nodeOf = (droplet: number): string => stage.cloud.state.droplets.get(droplet)?.name ?? String(droplet);
  return {
    stage,
    put,
    addFirewall: (name = FIREWALL) => addFirewall(stage, name),
    firewall: (name = FIREWALL) => {
      const found = [...stage.cloud.state.firewalls.values()].find((firewall) => firewall.name === name);
      return {
        ports: (found?.inboundRules ?? []).map(({ protocol, ports }) => `${protocol}/${ports}`).sort(),
        nodes: (found?.dropletIds ?? []).map(nodeOf).sort(),
      };
    },
    setClass: (name, spec = {}) =>
      put({
        apiVersion: GROUP,
        kind: 'ClusterRoutedIPClass',
        metadata: { name },
        spec: { className: CLASS_NAME, region: 'nyc3', routedIPFirewallName: FIREWALL, nodePortRange: '31000-32767', ...spec },
      }),
    editClass: async (name, spec) => void (await client.patch({ apiVersion: GROUP, kind: 'ClusterRoutedIPClass', name }, { spec })),
    service: async (name, nodes, ports = [HTTP]) => {
      await put(serviceObject(name, ports));
      await put(sliceOf(name, nodes));
    },
    editService: async (name, spec) =>
      void (await client.patch({ apiVersion: 'v1', kind: 'Service', namespace: NAMESPACE, name }, { spec })),
    endpoints: async (service, nodes, ready = true) =>
      void (await client.patch(sliceRef(service), { endpoints: sliceOf(service, nodes, ready).endpoints ?? [] })),
    pod: (node, listens) => podWith(client, node, listens),
    cordon: async (node) => void (await client.patch({ apiVersion: 'v1', kind: 'Node', name: node }, { spec: { unschedulable: true } })),
    routedIP: (name, spec = {}) =>
      put({
        apiVersion: GROUP,
        kind: 'RoutedIP',
        metadata: { name, namespace: NAMESPACE },
        spec: { className: CLASS_NAME, serviceRef: { serviceName: name }, ...spec },
      }),
    editRoutedIP: async (name, change) => void (await client.patch(ref(name), change)),
    deleteRoutedIP: (name) => client.delete(ref(name)),
    status,
    condition,
    degraded: async (name, reason) => {
      // What was read then: while it is tried again nothing counts as wrong for a moment.
      const found: { message?: string } = {};
      await stage.until(`RoutedIP ${name} says ${reason}`, async () => {
        const now = await condition(name);
        found.message = now?.message ?? '';
        return now?.reason === reason;
      });
      return found.message ?? '';
    },
    stable: async (name, on) => {
      await stage.until(`RoutedIP ${name} is stable${on ? ` on ${on}` : ''}`, async () => {
        const now = await status(name);
        return now?.state === 'Stable' && now.routedIP !== undefined && (on === undefined || now.assignedNode === on);
      });
      return (await status(name))?.routedIP ?? '';
    },
    events: async (name) => (await eventsOf(name)).map(({ reason }) => reason),
    notes: async (name) => (await eventsOf(name)).map(({ reason, message }) => `${reason}: ${message}`),
    taints: async (node) => {
      const { spec } = (await client.get({ apiVersion: 'v1', kind: 'Node', name: node })) as unknown as {
        spec?: { taints?: { key: string; effect: string }[] };
      };
      return (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
    },
    changes: (since = 0) => stage.cloud.calls.select({ since, writes: true }).map(meaningOf),
    lastCall: () => stage.cloud.calls.select({}).at(-1)?.n ?? 0,
    close: async () => {
      for (const each of made.reverse()) {
        await client.delete(each).catch(() => undefined);
        if (each.apiVersion === GROUP) await client.patch(each, { metadata: { finalizers: [] } }).catch(() => undefined);
      }
    },
  };
}
