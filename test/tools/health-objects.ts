import { readFileSync } from 'node:fs';
import { type DigitalOceanSimulator, startDigitalOcean } from '../../simulator/digitalocean/server.ts';
import { type ClientRef, connectionOf, type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { addNode, addPod, setNodeReady } from '../../simulator/kubernetes/cluster.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { HTTP, NAMESPACE, serviceObject, sliceOf } from '../e2e/routed-objects.ts';
import { digitalOceanZone } from '../e2e/zones.ts';
import { type Operator, startOperator } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

/** An object as the API server shows it, as far as its health goes by it. */
export interface Shown {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly generation: number; readonly deletionTimestamp?: string };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

export interface Seen {
  /** What was so of it, in the words of the table: `Ready=True`. */
  readonly so: readonly string[];
  readonly object: Shown;
}

/** Whether that is so of an object. */
export const isSo = (what: string, { metadata, status }: Shown): boolean => {
  if (what === 'deletionTimestamp') return metadata.deletionTimestamp !== undefined;
  if (what === 'observedGeneration') return status?.observedGeneration !== undefined && status.observedGeneration < metadata.generation;
  return (status?.conditions ?? []).some((condition) => `${condition.type}=${condition.status}` === what);
};

const FLIPOP = 'flipop.digitalocean.com/v1alpha1';
const ROUTED = 'routedip.io/v1alpha1';
const VERSIONS: Readonly<Record<string, string>> = {
  FloatingIPPool: FLIPOP,
  NodeDNSRecordSet: FLIPOP,
  RoutedIP: ROUTED,
  ClusterRoutedIPClass: ROUTED,
  RoutedIPIssuer: ROUTED,
  IPGroup: 'paas.org/v1',
};
/** Those that have conditions. */
export const KINDS = Object.keys(VERSIONS);
const OF_THE_CLUSTER = ['ClusterRoutedIPClass', 'IPGroup'];
const CLASS_NAME = 'digitalocean.com/floating-ip';
const ZONE = 'example.com';
const PAUSED: JsonObject = { 'routedip.io/paused': 'true' };

const reasonsOf = ({ status }: Shown): readonly string[] => (status?.conditions ?? []).map(({ reason }) => reason);

const refOf = (kind: string, name: string): ClientRef => ({
  apiVersion: VERSIONS[kind] ?? 'v1',
  kind,
  name,
  ...(!OF_THE_CLUSTER.includes(kind) && { namespace: NAMESPACE }),
});

const match = (pool: string): JsonObject => ({ nodeLabel: `pool=${pool}`, podNamespace: NAMESPACE, podLabel: 'app=ingress' });
const pool = (ips: readonly string[], more: JsonObject = {}): JsonObject => ({
  ...{ provider: 'digitalocean', region: 'nyc3', ips: [...ips], match: match('work') },
  ...more,
});
const recordSet = (recordName: string, zone = ZONE): JsonObject => ({
  ...{ provider: 'digitalocean', dnsRecordSet: { recordName, zone }, addressType: 'InternalIP', match: match('work') },
});
const routedIP = (service: string, more: JsonObject = {}): JsonObject => ({
  ...{ className: CLASS_NAME, serviceRef: { serviceName: service } },
  ...more,
});
const issuer = (secret: string, more: JsonObject = {}): JsonObject => ({
  ...{ issuerClass: 'digitalocean', region: 'nyc3', fromSecretsRef: [{ name: secret }] },
  ...more,
});

/** Objects of all kinds that have conditions, served by an operator until they have said everything that the page tells of. */
export class Play {
  readonly seen: Seen[] = [];
  readonly #kubeconfig: string;
  readonly #client: KubeClient;
  readonly #cloud: DigitalOceanSimulator;
  #operator: Operator | null = null;

  static async open(kubeconfig: string): Promise<Play> {
    const cloud = await startDigitalOcean({ rateLimit: { perHour: 100_000, perMinute: 6_000 } });
    return new Play(kubeconfig, kubeClient(connectionOf(readFileSync(kubeconfig, 'utf8'))), cloud);
  }

  private constructor(kubeconfig: string, client: KubeClient, cloud: DigitalOceanSimulator) {
    this.#kubeconfig = kubeconfig;
    this.#client = client;
    this.#cloud = cloud;
  }

  async run(): Promise<void> {
    await this.#surroundings();
    await this.#good();
    this.#operator = startOperator({
      kubeconfig: this.#kubeconfig,
      redisUrl: '',
      digitaloceanUrl: this.#cloud.url,
      flags: ['--jobs=memory', '--leader-elect=false'],
    });
    await this.#operator.ready();
    await this.#create('RoutedIP', 'own', routedIP('own', { className: null, issuerRef: { name: 'good' } }));
    for (const kind of KINDS) await this.#sees(['Ready=True'], kind, 'good');
    await this.#sees(['Ready=True'], 'RoutedIP', 'own');
    await this.#wrong();
    await this.#paused();
    await this.#deleted();
    await this.#operator.stop();
    await this.#unheard();
  }

  async close(): Promise<void> {
    await this.#operator?.stop();
    this.#client.close();
    await this.#cloud.close();
  }

  /** Waits until that is so of the object, and keeps it as it is then. */
  async #sees(so: readonly string[], kind: string, name: string, reason?: string): Promise<void> {
    const found: Shown[] = [];
    await waitFor(`${kind} ${name} says ${so.join(' and ')} for ${reason ?? 'any reason'}`, async () => {
      found[0] = (await this.#client.get(refOf(kind, name))) as unknown as Shown;
      const [object] = found;
      return so.every((what) => isSo(what, object)) && (reason === undefined || reasonsOf(object).includes(reason));
    }).catch((cause: unknown) => {
      throw new Error(`${String(cause)}: ${JSON.stringify(found)}`);
    });
    this.seen.push(...found.map((object) => ({ so, object })));
  }

  async #create(kind: string, name: string, spec: JsonObject, annotations: JsonObject = {}): Promise<void> {
    const { apiVersion, namespace } = refOf(kind, name);
    await this.#client.create({ apiVersion, kind, metadata: { name, annotations, ...(namespace !== undefined && { namespace }) }, spec });
  }

  async #pause(kind: string, name: string): Promise<void> {
    await this.#client.patch(refOf(kind, name), { metadata: { annotations: PAUSED } });
  }

  /** Addresses of the account that no pool has yet. */
  #addresses(count: number): readonly string[] {
    return Array.from({ length: count }, () => this.#cloud.addReservedIP({ region: 'nyc3' }).ip);
  }

  async #surroundings(): Promise<void> {
    await digitalOceanZone(this.#cloud, ZONE);
    const nodes = { a: 'work', b: 'work', c: 'hold', d: 'hold', e: 'routed', f: 'routed' };
    for (const [index, [name, label]] of Object.entries(nodes).entries()) {
      const { id } = this.#cloud.addDroplet({ name, region: 'nyc3' });
      await addNode(this.#client, { name, dropletID: id, region: 'nyc3', internalIP: `10.0.0.${index + 1}`, labels: { pool: label } });
      await addPod(this.#client, { name: `ingress-${name}`, namespace: NAMESPACE, node: name, labels: { app: 'ingress' } });
    }
    await this.#client.create({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'token', namespace: NAMESPACE } },
      stringData: { DIGITALOCEAN_ACCESS_TOKEN: 'a-token-of-its-own' },
    });
    for (const [index, service] of ['good', 'idle', 'own'].entries()) {
      await this.#client.create(serviceObject(service, [{ ...HTTP, nodePort: 30_080 + index }]));
      await this.#client.create(sliceOf(service, ['e', 'f']));
    }
  }

  async #good(): Promise<void> {
    await this.#create('FloatingIPPool', 'good', pool(this.#addresses(1)));
    await this.#create('NodeDNSRecordSet', 'good', recordSet('good'));
    await this.#create('ClusterRoutedIPClass', 'good', { className: CLASS_NAME, region: 'nyc3' });
    await this.#create('RoutedIP', 'good', routedIP('good'));
    await this.#create('RoutedIPIssuer', 'good', issuer('token'));
    await this.#create('IPGroup', 'good', { segment: '192.0.2.0/28', excludedIPs: [] });
    for (const kind of KINDS) await this.#sees(['Ready=Unknown'], kind, 'good', 'Pending');
  }

  async #wrong(): Promise<void> {
    await this.#create('FloatingIPPool', 'invalid', pool(this.#addresses(1), { match: { ...match('work'), nodeLabel: '==' } }));
    await this.#create('NodeDNSRecordSet', 'invalid', recordSet('elsewhere.example.org.'));
    await this.#create('ClusterRoutedIPClass', 'invalid', { className: 'example.com/none' });
    await this.#create('RoutedIP', 'invalid', routedIP('good', { serviceRef: { serviceName: 'good', namespace: 'kube-system' } }));
    await this.#create('RoutedIPIssuer', 'invalid', issuer('token', { issuerClass: 'aws' }));
    await this.#create('IPGroup', 'invalid', { segment: '198.51.100.0/28', excludedIPs: ['198.51.100.0/28'] });
    for (const kind of KINDS) await this.#sees(['Stalled=True'], kind, 'invalid');

    const held = this.#addresses(2);
    await this.#create(
      'FloatingIPPool',
      'held',
      pool(held, { match: match('hold'), safeHold: { maxUnavailable: 1, windowSeconds: 3600 } }),
    );
    await this.#sees(['Ready=True'], 'FloatingIPPool', 'held');
    for (const node of ['c', 'd']) await setNodeReady(this.#client, node, false);
    await this.#sees(['Ready=False'], 'FloatingIPPool', 'held', 'SafeHold');
    await this.#create('FloatingIPPool', 'absent', pool(['203.0.113.250'], { match: match('nowhere') }));
    await this.#sees(['Ready=False'], 'FloatingIPPool', 'absent', 'AddressNotFound');
    await this.#create('NodeDNSRecordSet', 'absent', recordSet('absent', 'example.net'));
    await this.#sees(['Ready=False'], 'NodeDNSRecordSet', 'absent', 'ZoneNotFound');
    await this.#create('ClusterRoutedIPClass', 'second', { className: CLASS_NAME, region: 'nyc3' });
    await this.#sees(['Ready=True'], 'ClusterRoutedIPClass', 'second', 'Conflict');
    await this.#create('RoutedIP', 'unclear', routedIP('idle'));
    await this.#sees(['Ready=False'], 'RoutedIP', 'unclear', 'ClassAmbiguous');
    await this.#client.delete(refOf('ClusterRoutedIPClass', 'second'));
    await this.#create('RoutedIP', 'absent', routedIP('idle', { className: 'example.com/absent' }));
    await this.#sees(['Ready=False'], 'RoutedIP', 'absent', 'ClassNotFound');
    await this.#create('RoutedIPIssuer', 'absent', issuer('absent'));
    await this.#sees(['Ready=False'], 'RoutedIPIssuer', 'absent', 'SecretNotFound');
  }

  async #paused(): Promise<void> {
    for (const kind of ['FloatingIPPool', 'RoutedIP']) {
      for (const name of ['good', 'invalid']) await this.#pause(kind, name);
      await this.#sees(['Ready=True', 'Paused=True'], kind, 'good');
      await this.#sees(['Stalled=True'], kind, 'invalid', 'Paused');
    }
    await this.#create('FloatingIPPool', 'waits', pool(this.#addresses(1)), PAUSED);
    await this.#create('RoutedIP', 'waits', routedIP('idle'), PAUSED);
    for (const kind of ['FloatingIPPool', 'RoutedIP']) await this.#sees(['Paused=True'], kind, 'waits');
  }

  /** A RoutedIP that is paused goes later. */
  async #deleted(): Promise<void> {
    await this.#pause('RoutedIP', 'own');
    await this.#sees(['Ready=True', 'Paused=True'], 'RoutedIP', 'own');
    await this.#client.delete(refOf('RoutedIP', 'own'));
    await this.#sees(['deletionTimestamp'], 'RoutedIP', 'own');
  }

  /** What nobody hears of any more, and what goes later since it was used. */
  async #unheard(): Promise<void> {
    for (const [kind, spec] of Object.entries(EDITS)) {
      for (const name of ['good', 'invalid']) {
        await this.#client.patch(refOf(kind, name), { spec });
        await this.#sees(['observedGeneration'], kind, name);
      }
    }
    for (const kind of ['ClusterRoutedIPClass', 'RoutedIPIssuer']) {
      await this.#client.delete(refOf(kind, 'good'));
      await this.#sees(['deletionTimestamp'], kind, 'good');
    }
  }
}

/** Of each kind, what may be written into the spec of any object. */
const EDITS: Readonly<Record<string, JsonObject>> = {
  FloatingIPPool: { assignmentCoolOffSeconds: 7 },
  NodeDNSRecordSet: { dnsRecordSet: { ttl: 77 } },
  ClusterRoutedIPClass: { maxPorts: 7 },
  RoutedIP: { serviceRef: { serviceName: 'idle' } },
  RoutedIPIssuer: { maxPorts: 7 },
  IPGroup: { excludedIPs: ['192.0.2.7'] },
};
