import { join } from 'node:path';
import { afterAll, beforeAll, vi } from 'vitest';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { objectsIn } from '../support/kube-apply.ts';
import type { Operator } from '../support/operator.ts';
import { staged } from './served.ts';
import { openStage, type Stage, type StageOptions } from './stage.ts';
import { openTarget, type Target } from './target.ts';

const GROUP = 'paas.org/v1';
const EXAMPLES = join(import.meta.dirname, '../../crds/samples/vip');
const FINALIZER = 'ips.paas.org/finalizer';

interface Metadata {
  readonly name: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ServiceObject {
  readonly metadata: Metadata;
  readonly spec: { readonly type: string; readonly ports: readonly JsonObject[] };
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[] };
    readonly conditions?: GroupStatus['conditions'];
  };
}

/** What an IPGroup shows. */
export interface GroupStatus {
  readonly capacity: number;
  readonly allocated: number;
  readonly available: number;
  readonly observedGeneration?: number;
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }[];
}

interface Telling {
  readonly involvedObject?: { readonly kind?: string; readonly name?: string };
  readonly reason?: string;
  readonly message?: string;
}

/** The addresses that a Service lists, joined by a blank. */
export const listedBy = (service: ServiceObject | null): string =>
  (service?.status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? '-').join(' ');

export const isGuarded = (service: ServiceObject | null): boolean => service?.metadata.finalizers?.includes(FINALIZER) ?? false;

/** Services of type LoadBalancer and IPGroups on a stage, and what is there of them. */
export class Vips {
  readonly stage: Stage;
  readonly namespace: string;

  constructor(stage: Stage, namespace = 'default') {
    this.stage = stage;
    this.namespace = namespace;
  }

  get client(): Target['client'] {
    return this.stage.target.client;
  }

  start(flags: readonly string[] = []): Promise<Operator> {
    return this.stage.start({ flags: ['--controllers=vip', ...flags] });
  }

  async group(name: string, segment: string, excludedIPs: readonly string[] = []): Promise<void> {
    await this.client.create({
      apiVersion: GROUP,
      kind: 'IPGroup',
      metadata: { name },
      spec: { segment, excludedIPs },
    } as unknown as JsonObject);
  }

  removeGroup(name: string): Promise<unknown> {
    return this.client.delete({ apiVersion: GROUP, kind: 'IPGroup', name });
  }

  /** What the operator shows in the IPGroup; null before it shows anything. */
  async groupStatus(name: string): Promise<GroupStatus | null> {
    const found = await this.client.get({ apiVersion: GROUP, kind: 'IPGroup', name });
    const status = (found.status ?? null) as unknown as GroupStatus | null;
    // It begins with what the definition says.
    return status?.observedGeneration === undefined ? null : status;
  }

  async service(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): Promise<void> {
    const ports = [{ name: 'web', port: 80, targetPort: 8080, protocol: 'TCP' }];
    await this.client.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: this.namespace, ...metadata },
      spec: { type: 'LoadBalancer', selector: { app: name }, ports, ...spec },
    } as unknown as JsonObject);
  }

  /** Creates the objects of an example, one after the other. */
  async example(file: string): Promise<void> {
    for (const object of objectsIn(join(EXAMPLES, file))) await this.client.create(object as unknown as JsonObject);
  }

  patch(name: string, change: JsonObject): Promise<unknown> {
    return this.client.patch(this.#ref(name), change);
  }

  /** Writes the ingress of the Service, as anybody may who may write its status. */
  setIngress(name: string, ingress: readonly JsonObject[], fieldManager?: string): Promise<unknown> {
    return this.client.patch(this.#ref(name), { status: { loadBalancer: { ingress } } } as unknown as JsonObject, {
      subresource: 'status',
      ...(fieldManager !== undefined && { fieldManager }),
    });
  }

  /** What the Service says of itself as contended; null for nothing. */
  async contended(name: string): Promise<string | null> {
    const { conditions = [] } = (await this.find(name))?.status ?? {};
    return conditions.find(({ type, status }) => type === 'routedip.io/Contended' && status === 'True')?.message ?? null;
  }

  remove(name: string): Promise<unknown> {
    return this.client.delete(this.#ref(name));
  }

  async find(name: string): Promise<ServiceObject | null> {
    return this.client.get(this.#ref(name)).then(
      (found) => found as unknown as ServiceObject,
      () => null,
    );
  }

  async services(): Promise<readonly ServiceObject[]> {
    return (await this.client.list('v1', 'Service', { namespace: this.namespace })) as unknown as readonly ServiceObject[];
  }

  async listed(name: string): Promise<string> {
    return listedBy(await this.find(name));
  }

  /** Address → owner of all IPs. */
  async reserved(): Promise<Readonly<Record<string, string>>> {
    const items = await this.client.list(GROUP, 'IP');
    return Object.fromEntries(
      items.map(({ metadata }) => [
        metadata.name,
        (metadata.annotations as Record<string, string> | undefined)?.['virtualips.paas.il/owner'] ?? '',
      ]),
    );
  }

  /** Name of the Service → what the operator's Events of it say, `<reason>: <message>`, in no order. */
  async told(): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#tellings('Service', this.namespace);
  }

  /** The same of IPGroups. */
  async toldOfGroups(): Promise<ReadonlyMap<string, readonly string[]>> {
    return this.#tellings('IPGroup', 'default');
  }

  async says(name: string, text: string): Promise<boolean> {
    return (await this.told()).get(name)?.includes(text) ?? false;
  }

  until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs?: number): Promise<void> {
    return this.stage.until(what, holds, deadlineMs);
  }

  async listing(name: string, address: string): Promise<void> {
    await this.until(`Service ${name} lists ${address || 'nothing'}`, async () => (await this.listed(name)) === address);
  }

  #ref(name: string) {
    return { apiVersion: 'v1', kind: 'Service', namespace: this.namespace, name };
  }

  async #tellings(kind: string, namespace: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const events = (await this.client.list('v1', 'Event', { namespace })) as unknown as readonly Telling[];
    const all = new Map<string, readonly string[]>();
    // The API server tells of Services, too, e.g. that it repairs their cluster IPs.
    const own = events.filter((event) => event.involvedObject?.kind === kind && !event.reason?.startsWith('ClusterIP'));
    for (const { involvedObject, reason, message } of own) {
      const name = involvedObject?.name ?? '';
      all.set(name, [...(all.get(name) ?? []), `${reason}: ${message}`]);
    }
    return all;
  }
}

/** A stage for Services for each test of the file. */
export function vipStage() {
  const { stage, target } = staged();
  return { vips: () => new Vips(stage()), target };
}

/** One stage for all tests of the file, in which they go on where the one before has ended; `prepare` comes before them. */
export function sharedVipStage(namespace: string, prepare: (vips: Vips) => Promise<void>, options: StageOptions = {}) {
  const held: { target?: Target; vips?: Vips } = {};
  vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });
  beforeAll(async () => {
    held.target = await openTarget(options);
    held.vips = new Vips(await openStage(held.target, options), namespace);
    await prepare(held.vips);
  });
  afterAll(async () => {
    await held.vips?.stage.close();
    await held.target?.close();
  });
  return {
    vips: (): Vips => {
      if (!held.vips) throw new Error('there is no stage outside of a test');
      return held.vips;
    },
  };
}
