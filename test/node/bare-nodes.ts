import type { DigitalOceanSimulator } from '../../simulator/digitalocean/server.ts';
import { type ClientRef, type KubeClient, KubeClientError } from '../../simulator/kubernetes/client.ts';
import { addPod, nodeObject, removePod, setNodeReady } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';

const LEASES = 'kube-node-lease';
const RENEWED_EVERY_MS = 1_000;
export const REGION = 'nyc3';

const nodeRef = (name: string): ClientRef => ({ apiVersion: 'v1', kind: 'Node', name });
const leaseRef = (name: string): ClientRef => ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace: LEASES, name });
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
  readonly #droplets = new Map<string, number>();
  readonly #alive = new Set<string>();
  readonly #timer: NodeJS.Timeout;

  constructor(client: KubeClient, cloud: DigitalOceanSimulator) {
    this.#client = client;
    this.#cloud = cloud;
    this.#timer = setInterval(() => void Promise.all([...this.#alive].map((name) => this.#renew(name))), RENEWED_EVERY_MS);
  }

  async add(name: string): Promise<void> {
    const { id } = this.#cloud.addDroplet({ name, region: REGION });
    this.#droplets.set(name, id);
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: microTime() };
    const { apiVersion, kind } = leaseRef(name);
    await this.#client.create({ apiVersion, kind, metadata: { name, namespace: LEASES }, spec });
    this.#alive.add(name);
    const node = nodeObject({ name, dropletID: id, region: REGION });
    // Else the scheduler would take it for a place where Pods run.
    await this.#client.create({ ...node, status: { ...(node.status as JsonObject), allocatable: { pods: '0' } } });
    await addPod(this.#client, { ...podOf(name), node: name, labels: { app: 'ingress' } });
  }

  /** Nobody renews its Lease any more. */
  die(name: string): void {
    this.#alive.delete(name);
  }

  /** As after a reboot: its kubelet is heard of again, and its Pod is Ready. */
  async revive(name: string): Promise<void> {
    this.#alive.add(name);
    await this.#renew(name);
    await setNodeReady(this.#client, name, true);
    await removePod(this.#client, podOf(name)).catch(absent);
    await addPod(this.#client, { ...podOf(name), node: name, labels: { app: 'ingress' } });
  }

  /** Whether the node controller has given it up. */
  async isUnknown(name: string): Promise<boolean> {
    const { status } = (await this.#client.get(nodeRef(name))) as unknown as NodeBody;
    return status.conditions.some((condition) => condition.type === 'Ready' && condition.status === 'Unknown');
  }

  /** The node whose droplet holds the address at the provider; null for none of these. */
  holderOf(address: string): string | null {
    const droplet = this.#cloud.state.reservedIPs.get(address)?.dropletId;
    return [...this.#droplets].find(([, id]) => id === droplet)?.[0] ?? null;
  }

  async annotation(name: string): Promise<string | null> {
    const { metadata } = (await this.#client.get(nodeRef(name))) as unknown as NodeBody;
    return metadata.annotations?.['flipop.digitalocean.com/ipv4-reserved-ip'] ?? null;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#alive.clear();
    for (const name of this.#droplets.keys()) {
      await removePod(this.#client, podOf(name)).catch(absent);
      for (const ref of [nodeRef(name), leaseRef(name)]) await this.#client.delete(ref).catch(absent);
    }
  }

  async #renew(name: string): Promise<void> {
    // One that is refused or comes to nothing is followed by the next: the controller waits for several.
    await this.#client.patch(leaseRef(name), { spec: { renewTime: microTime() } }).catch(() => undefined);
  }
}

const microTime = (): string => new Date().toISOString().replace('Z', '000Z');

const absent = (error: unknown): void => {
  if (!(error instanceof KubeClientError && error.code === 404)) throw error;
};
