import type { Firewall } from '../simulator/digitalocean/model.ts';
import { addNode, setNodeReady } from '../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../simulator/kubernetes/objects.ts';
import type { HostRow } from './routed-view.ts';
import { createAtProvider, REGION, type Stage } from './stage.ts';
import { now } from './time.ts';
import { type Greeter, type Prober, startGreeter, startProber, type TrafficRow } from './traffic.ts';

/** A class with a firewall, a Service and a RoutedIP. */
export const SHOP_MANIFEST = '../demo/shop.yaml';
/** The name of the Service, of its RoutedIP and of the firewall that the class names. */
export const SHOP = 'shop';
export const SHOP_NODES: readonly string[] = ['web-1', 'web-2', 'web-3'];
/** Where the Service is to be reached, and where something else listens that is not to be. */
export const OPEN_PORT = 80;
export const CLOSED_PORT = 9090;

/** What serves the third act: three nodes that listen on two ports, and whoever connects to them. Nothing of it is there before it is opened. */
export interface Shop {
  look(): { readonly hosts: readonly HostRow[]; readonly traffic: readonly TrafficRow[] };
  open(): Promise<void>;
  /** Connects to both ports of the address from now on. */
  probe(address: string): Promise<void>;
  /** Connects less often from now on. */
  slowDown(): void;
  /** The machine dies: nobody listens on it any more, and Kubernetes notices at once. */
  kill(node: string): Promise<void>;
  revive(node: string): Promise<void>;
  /** When the change of the shop's firewall that was asked for at `since` came into force on a node; null while it is under way. */
  inForceAt(node: string, change: 'open' | 'closed', since: number): number | null;
  close(): Promise<void>;
}

export function prepareShop(stage: Stage): Shop {
  const { cloud, client, droplets } = stage;
  const greeters = new Map<string, Greeter>();
  const probers: Prober[] = [];
  const dead = new Set<number>();
  const due = new Map<string, number>();
  const dropletOf = (node: string): number => droplets.get(node) ?? -1;
  const listen = (node: string): void => {
    dead.delete(dropletOf(node));
    for (const port of [OPEN_PORT, CLOSED_PORT]) cloud.network.listeners.set(dropletOf(node), port, greeters.get(node)?.port ?? -1);
  };
  const silence = (node: string): void => {
    dead.add(dropletOf(node));
    for (const port of [OPEN_PORT, CLOSED_PORT]) cloud.network.listeners.remove(dropletOf(node), port);
  };
  const noteDue = (): void => {
    for (const { dropletId, removing, dueAt } of firewallOf(stage)?.pending ?? []) due.set(`${dropletId} ${removing}`, dueAt);
  };
  return {
    look: () => {
      noteDue();
      return { hosts: [...greeters.keys()].map((node) => hostRow(stage, node)), traffic: probers.map(({ row }) => row) };
    },
    open: async () => {
      for (const node of SHOP_NODES) {
        const { id } = cloud.addDroplet({ name: node, region: REGION });
        droplets.set(node, id);
        await addNode(client, { name: node, dropletID: id, region: REGION });
        await client.create(podOn(node));
        greeters.set(node, await startGreeter(node));
        listen(node);
      }
      await client.create(endpointsOn(SHOP_NODES));
      // As every platform closes its nodes: a droplet that no firewall knows would take every connection.
      await createAtProvider(stage, 'firewalls', { name: 'nodes', inbound_rules: [SSH], droplet_ids: SHOP_NODES.map(dropletOf) });
      // DigitalOcean wants a rule in each.
      await createAtProvider(stage, 'firewalls', { name: SHOP, inbound_rules: [SSH] });
    },
    probe: async (address) => {
      for (const port of [OPEN_PORT, CLOSED_PORT]) {
        probers.push(await startProber({ cloud, address, port, isDown: (droplet) => dead.has(droplet) }));
      }
    },
    slowDown: () => {
      for (const prober of probers) prober.slowDown();
    },
    kill: async (node) => {
      silence(node);
      await setNodeReady(client, node, false);
    },
    revive: async (node) => {
      listen(node);
      await setNodeReady(client, node, true);
    },
    inForceAt: (node, change, since) => {
      noteDue();
      const at = due.get(`${dropletOf(node)} ${change === 'closed'}`);
      if (at !== undefined && at >= since) return at <= now() ? at : null;
      // So short that nobody saw it under way.
      return hostRow(stage, node).open.includes(`tcp/${OPEN_PORT}`) === (change === 'open') ? now() : null;
    },
    close: async () => {
      await Promise.all(probers.map((prober) => prober.stop()));
      for (const greeter of greeters.values()) greeter.close();
    },
  };
}

const SSH = { protocol: 'tcp', ports: '22', sources: { addresses: ['0.0.0.0/0', '::/0'] } };

/** The firewall that the class names. */
export const firewallOf = ({ cloud }: Stage): Readonly<Firewall> | undefined =>
  [...cloud.state.firewalls.values()].find(({ name }) => name === SHOP);

function hostRow(stage: Stage, node: string): HostRow {
  const { cloud, droplets } = stage;
  const id = droplets.get(node) ?? -1;
  const rules = [...cloud.state.firewalls.values()].flatMap(({ applied }) => applied[id] ?? []);
  const change = firewallOf(stage)?.pending.find(({ dropletId }) => dropletId === id);
  return {
    name: node,
    open: [...new Set(rules.map(({ protocol, ports }) => `${protocol}/${ports}`))].sort(),
    changing: change === undefined ? '' : change.removing ? 'closing' : 'opening',
    ...held(stage, id),
  };
}

/** What this droplet has of an address: all of it, or one that leaves or arrives. */
function held({ cloud }: Stage, id: number): Pick<HostRow, 'address' | 'moving'> {
  for (const { ip, dropletId, pendingActionId } of cloud.state.reservedIPs.values()) {
    const target = pendingActionId === null ? dropletId : (cloud.state.actions.get(pendingActionId)?.dropletId ?? null);
    if (target === id) return { address: ip, moving: dropletId === id ? '' : 'arriving' };
    if (dropletId === id) return { address: ip, moving: 'leaving' };
  }
  return { address: '', moving: '' };
}

/** A Pod that listens on a port of its node, as ingress controllers do. */
function podOn(node: string): JsonObject {
  const ports = [{ name: 'http', containerPort: 8080, hostPort: OPEN_PORT, protocol: 'TCP' }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `shop-${node}`, namespace: 'default', labels: { app: SHOP } },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'registry.example/shop:1.0', ports }] },
  };
}

function endpointsOn(nodes: readonly string[]): JsonObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${SHOP}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': SHOP } },
    addressType: 'IPv4',
    endpoints: nodes.map((node, index) => ({
      addresses: [`10.0.0.${index + 1}`],
      conditions: { ready: true },
      nodeName: node,
      targetRef: { kind: 'Pod', namespace: 'default', name: `shop-${node}` },
    })),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  };
}
