import type { DigitalOceanSimulator } from '../../simulator/digitalocean/server.ts';
import { type ClientRef, type KubeClient, KubeClientError } from '../../simulator/kubernetes/client.ts';
import { addPod, nodeObject, removePod } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';

const STATUS = { subresource: 'status', type: 'application/strategic-merge-patch+json' } as const;
const READY = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
const LEASES = 'kube-node-lease';
const RENEWED_EVERY_MS = 1_000;
export const REGION = 'nyc3';

const nodeRef = (name: string): ClientRef => ({ apiVersion: 'v1', kind: 'Node', name });
const leaseRef = (name: string): ClientRef => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: LEASES, name });
const podRef = (name: string): ClientRef => ({ apiVersion: 'v1', kind: 'Pod', ...podOf(name) });
const podOf = (name: string) => ({ name: `ingress-${name}`, namespace: 'default' });

interface NodeBody {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] };
}

/** Nodes that no kubelet serves, each a droplet with a Ready Pod `app=ingress` on it. Their Leases are renewed as a kubelet does until one is to die: then it is for the node
 *  controller to find that out. No Pod is scheduled there. */
export class BareNodes {
  readonly #client: KubeClient;
  readonly #cloud: DigitalOceanSimulator;
  readonly #names: string[] = [];
  readonly #droplets = new Map<string, number>();
  readonly #alive = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(client: KubeClient, cloud: DigitalOceanSimulator) {
    this.#client = client;
    this.#cloud = cloud;
    this.#timer = setInterval(() => void Promise.all([...this.#alive].map((name) => this.#renew(name))), RENEWED_EVERY_MS);
  }

  /** Without `isDroplet` it is a machine of which no cloud knows: a Node without providerID and region. */
  async add(name: string, { isDroplet = true } = {}): Promise<void> {
    this.#names.push(name);
    const droplet = isDroplet ? this.#cloud.addDroplet({ name, region: REGION }) : null;
    if (droplet) this.#droplets.set(name, droplet.id);
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() };
    const { apiVersion, kind } = leaseRef(name);
    await this.#client.create({ apiVersion, kind, metadata: { name, namespace: LEASES }, spec });
    this.#alive.add(name);
    const node = nodeObject({ name, ...(droplet && { dropletID: droplet.id, region: REGION }) });
    // Else the scheduler would take it for a place where Pods run.
    await this.#client.create({ ...node, status: { ...(node.status as JsonObject), allocatable: { pods: '0' } } });
    await addPod(this.#client, { ...podOf(name), node: name, labels: { app: 'ingress' } });
    // Endpoints of Services are Pods that have an address. Nobody answers there.
    const podIP = `10.244.255.${this.#names.length}`;
    await this.#client.patch(podRef(name), { status: { podIP, podIPs: [{ ip: podIP }] } }, STATUS);
  }

  /** Nobody renews its Lease any more. */
  die(name: string): void {
    this.#alive.delete(name);
  }

  /** Its kubelet is heard of again. */
  async revive(name: string): Promise<void> {
    this.#alive.add(name);
    await this.#renew(name);
  }

  /** Whether the node controller has given it up. */
  async isUnknown(name: string): Promise<boolean> {
    const { status } = (await this.#client.get(nodeRef(name))) as unknown as NodeBody;
    return status.conditions.some((condition) => condition.type === 'Ready' && condition.status === 'Unknown');
  }

  /** The node whose droplet holds the address at the provider; null for none of these. */
  holderOf(address: string): string | null {
    return this.nameOf(this.#cloud.state.reservedIPs.get(address)?.dropletId);
  }

  /** Null for a droplet of none of these. */
  nameOf(droplet: number | null | undefined): string | null {
    return [...this.#droplets].find(([, id]) => id === droplet)?.[0] ?? null;
  }

  dropletOf(name: string): number | undefined {
    return this.#droplets.get(name);
  }

  async annotation(name: string): Promise<string | null> {
    const { metadata } = (await this.#client.get(nodeRef(name))) as unknown as NodeBody;
    return metadata.annotations?.['flipop.digitalocean.com/ipv4-reserved-ip'] ?? null;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#alive.clear();
    for (const name of this.#names) {
      await removePod(this.#client, podOf(name)).catch(absent);
      for (const ref of [nodeRef(name), leaseRef(name)]) await this.#client.delete(ref).catch(absent);
    }
  }

  /** What a kubelet does again and again. Status that is as it was changes nothing; a node that was given up, since this machine stood still, is back by it. */
  async #renew(name: string): Promise<void> {
    const renewed = [
      this.#client.patch(leaseRef(name), { spec: { renewTime: microTime() } }),
      this.#client.patch(nodeRef(name), { status: { conditions: [READY] } }, STATUS),
      this.#client.patch(podRef(name), { status: { conditions: [READY] } }, STATUS),
    ];
    // One that is refused or comes to nothing is followed by the next: the controller waits for several.
    await Promise.allSettled(renewed);
  }
}

const microTime = (): string => new Date().toISOString().replace('Z', '000Z');

const absent = (error: unknown): void => {
  if (!(error instanceof KubeClientError && error.code === 404)) throw error;
};
