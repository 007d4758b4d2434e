import { afterEach, beforeEach } from 'vitest';
import type { NodeDNSRecordSetStatus } from '../../crds/generated/nodednsrecordset.ts';
import { type CloudflareSimulator, startCloudflare } from '../../simulator/cloudflare/server.ts';
import type { ClientRef } from '../../simulator/kubernetes/client.ts';
import type { JsonObject } from '../../simulator/kubernetes/objects.ts';
import { objectsIn } from '../support/kube-apply.ts';
import type { Operator, OperatorOptions } from '../support/operator.ts';
import { staged } from './served.ts';
import { end, type Stage, type StageOptions } from './stage.ts';
import { cloudflareZone, digitalOceanZone, type Zone } from './zones.ts';

const GROUP = 'flipop.digitalocean.com/v1alpha1';
export const CLOUDFLARE_TOKEN = 'cloudflare-test-token-0123456789';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What a scenario about DNS plays on: a stage, Cloudflare beside it, and the zone example.com at one of the two. */
export interface Names {
  readonly stage: Stage;
  readonly cloudflare: CloudflareSimulator;
  zoneAt(provider: Zone['provider'], name?: string): Promise<Zone>;
  /** Starts an operator that knows both. Null leaves Cloudflare's token out. */
  start(options?: Partial<OperatorOptions>, cloudflareToken?: string | null): Promise<Operator>;
  /** Sets the addresses in the status of a node, external ones. */
  external(node: string, ...addresses: readonly string[]): Promise<void>;
  /** Creates or changes a NodeDNSRecordSet of the nodes of the stage. */
  recordSet(name: string, spec: JsonObject): Promise<void>;
  editRecordSet(name: string, spec: JsonObject): Promise<void>;
  deleteRecordSet(name: string): Promise<void>;
  status(name: string): Promise<NodeDNSRecordSetStatus>;
  /** Of a NodeDNSRecordSet. */
  degraded(name: string): Promise<Condition | undefined>;
  poolDegraded(name: string): Promise<Condition | undefined>;
  /** Creates the objects of a manifest in the namespace default. */
  apply(file: string): Promise<void>;
  /** Those that were started here, oldest first. */
  operators(): readonly Operator[];
  /** Keys of the zones that Redis holds. */
  zoneCells(): Promise<readonly string[]>;
  /** `reason: note` of the Events about the object of that name. */
  events(name: string): Promise<readonly string[]>;
}

/** Registers what `staged` does, and Cloudflare for each test. */
export function named(options: StageOptions = {}) {
  const { stage, target } = staged(options);
  const held: { names?: Names & { close(): Promise<void> } } = {};
  beforeEach(async () => {
    held.names = await openNames(stage());
  });
  afterEach(() => held.names?.close());
  return {
    target,
    names: (): Names => {
      if (!held.names) throw new Error('there are no names outside of a test');
      return held.names;
    },
  };
}

async function openNames(stage: Stage): Promise<Names & { close(): Promise<void> }> {
  const cloudflare = await startCloudflare({ token: CLOUDFLARE_TOKEN, rateLimit: { requests: 100_000, windowMs: 60_000 } });
  const { client } = stage.target;
  const objects = new Map<string, ClientRef>();
  const operators: Operator[] = [];
  const create = async (object: JsonObject): Promise<void> => {
    const { apiVersion, kind, metadata } = await client.create(object);
    const { name = '' } = metadata;
    objects.set(`${kind} ${name}`, { apiVersion, kind, namespace: 'default', name });
  };
  const ref = (name: string) => ({ apiVersion: GROUP, kind: 'NodeDNSRecordSet', namespace: 'default', name });
  const conditionOf = (status: unknown): Condition | undefined =>
    ((status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? []).find(({ type }) => type === 'Degraded');
  const status = async (name: string) => ((await client.get(ref(name))).status ?? {}) as NodeDNSRecordSetStatus;
  return {
    stage,
    cloudflare,
    zoneAt: async (provider, name = 'example.com') =>
      provider === 'cloudflare' ? cloudflareZone(cloudflare, name) : digitalOceanZone(stage.cloud, name),
    start: async ({ env = {}, flags = [], ...options } = {}, token = CLOUDFLARE_TOKEN) => {
      const variables = { CLOUDFLARE_API_URL: cloudflare.url, ...(token !== null && { CLOUDFLARE_TOKEN: token }), ...env };
      const operator = await stage.start({ ...options, env: variables, flags: ['--verify-interval=500ms', ...flags] });
      operators.push(operator);
      return operator;
    },
    operators: () => operators,
    apply: async (file) => {
      for (const object of objectsIn(file))
        await create({ ...object, metadata: { ...object.metadata, namespace: 'default' } } as JsonObject);
    },
    zoneCells: async () => (await stage.redis.command('KEYS', '*:cell:zone/*')) as string[],
    external: async (node, ...addresses) => {
      const listed = addresses.map((address) => ({ type: 'ExternalIP', address }));
      const patch = { status: { addresses: [{ type: 'Hostname', address: node }, ...listed] } };
      await client.patch({ apiVersion: 'v1', kind: 'Node', name: node }, patch, {
        subresource: 'status',
        type: 'application/merge-patch+json',
      });
    },
    recordSet: (name, spec) =>
      create({
        apiVersion: GROUP,
        kind: 'NodeDNSRecordSet',
        metadata: { name, namespace: 'default' },
        spec: { match: { nodeLabel: 'pool=work' }, ...spec },
      }),
    editRecordSet: async (name, spec) => void (await client.patch(ref(name), { spec })),
    deleteRecordSet: (name) => client.delete(ref(name)),
    status,
    degraded: async (name) => conditionOf(await status(name)),
    poolDegraded: async (name) => conditionOf((await stage.getPool(name)).status),
    events: async (name) => {
      const events = await client.list('events.k8s.io/v1', 'Event', { namespace: 'default' });
      return events
        .filter(({ regarding }) => (regarding as { name?: string } | undefined)?.name === name)
        .map(({ reason, note }) => `${reason}: ${note}`);
    },
    close: async () => {
      for (const made of objects.values()) await client.delete(made).catch(() => undefined);
      await Promise.all(operators.map(end));
      await cloudflare.close();
    },
  };
}
