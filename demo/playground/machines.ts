import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DigitalOceanSimulator } from '../../simulator/digitalocean/server.ts';
import { type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { type KubeObject, timestamp } from '../../simulator/kubernetes/objects.ts';

/** Where the kubelet puts what a Pod needs to speak to the API server. */
const OWN = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Nodes with this label are ours. */
const OURS = 'node-pool=playground';
/** A node with this label and value is switched off: nobody sends its heartbeats. */
const POWER = { label: 'power', off: 'off' };
const BEAT_EVERY_MS = 5_000;
const REGION_LABEL = 'topology.kubernetes.io/region';
const STATUS = { subresource: 'status', type: 'application/strategic-merge-patch+json' } as const;

interface Condition {
  readonly type: string;
  readonly status: string;
}

/** Nodes of the cluster that have a droplet of the simulated account and no machine. Their heartbeats are sent as a kubelet sends them; once one is switched off it is for the
 *  node controller to notice. */
export class Machines {
  readonly #cloud: DigitalOceanSimulator;
  readonly #names = new Map<number, string>();
  readonly #beaten = new Map<string, number>();
  #token = '';
  #client: KubeClient | null = null;

  constructor(cloud: DigitalOceanSimulator) {
    this.#cloud = cloud;
  }

  /** Sends the heartbeats that are due. One that is refused, as for a Node that somebody else gave our label, holds up no other.
   *  @throws Error when the Nodes cannot be listed, or a heartbeat was refused */
  async beat(): Promise<void> {
    const nodes = await this.#connected().list('v1', 'Node', { selector: OURS });
    const beats = await Promise.allSettled(nodes.map((node) => this.#beatFor(node)));
    for (const beat of beats) if (beat.status === 'rejected') throw beat.reason;
  }

  async #beatFor(node: KubeObject): Promise<void> {
    const { name = '', labels = {} } = node.metadata;
    const isOff = labels[POWER.label] === POWER.off;
    const isDue = Date.now() - (this.#beaten.get(name) ?? 0) >= BEAT_EVERY_MS;
    if (isDue && !isOff) {
      await this.#connected().patch({ apiVersion: 'v1', kind: 'Node', name }, { status: alive(node) }, STATUS);
      this.#beaten.set(name, Date.now());
    }
    this.#adopt(name, node);
  }

  /** The node of a droplet. */
  nameOf(droplet: number): string {
    return this.#names.get(droplet) ?? `droplet ${droplet}`;
  }

  close(): void {
    this.#client?.close();
  }

  /** Its droplet is in the account from now on. */
  #adopt(name: string, { metadata: { labels = {} }, spec }: KubeObject): void {
    const { providerID } = (spec ?? {}) as { readonly providerID?: string };
    const id = Number(/^digitalocean:\/\/(\d+)$/.exec(providerID ?? '')?.[1]);
    if (Number.isNaN(id) || this.#names.has(id)) return;
    this.#cloud.addDroplet({ id, name, region: labels[REGION_LABEL] ?? '' });
    this.#names.set(id, name);
    console.log(`droplet ${id} is the node ${name}`);
  }

  /** The kubelet of this Pod renews its token. */
  #connected(): KubeClient {
    const token = readFileSync(join(OWN, 'token'), 'utf8');
    if (this.#client === null || token !== this.#token) {
      this.#client?.close();
      const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = process.env;
      const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
      this.#client = kubeClient({ url, ca: readFileSync(join(OWN, 'ca.crt'), 'utf8'), token });
      this.#token = token;
    }
    return this.#client;
  }
}

/** The status of a node whose kubelet has just been heard of. No Pod finds a place on it. */
function alive({ status }: KubeObject) {
  const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] };
  const now = timestamp(Date.now());
  const wasReady = conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'the playground sends the heartbeats',
    lastHeartbeatTime: now,
  };
  return {
    capacity: { pods: '0' },
    allocatable: { pods: '0' },
    nodeInfo: { kubeletVersion: 'playground' },
    conditions: [wasReady ? ready : { ...ready, lastTransitionTime: now }],
  };
}
