import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ClusterListener, PoolObject } from '../../../actors/ports/cluster.ts';
import type { Log, LogFields } from '../../../actors/ports/observers.ts';
import { type ReflectorTimings, TIMINGS } from '../../../adapters/kubernetes/cache/reflector.ts';
import { type Connection, connect } from '../../../adapters/kubernetes/client/connection.ts';
import { loadConfig } from '../../../adapters/kubernetes/client/kube-config.ts';
import { KubernetesSource, type SourceOptions } from '../../../adapters/kubernetes/source/source.ts';
import { systemClock } from '../../../adapters/system/clock.ts';
import { API_VERSION, KIND } from '../../../crds/generated/floatingippool.ts';
import * as nodeDNSRecordSets from '../../../crds/generated/nodednsrecordset.ts';
import type { ClusterFact } from '../../../machines/events.ts';
import { queryOf } from '../../../machines/model/matching.ts';
import type { EvacuatedNode, ObjectRef } from '../../../machines/model/types.ts';
import { type NodeSpec, nodeObject, type PodSpec, podObject } from '../../../simulator/kubernetes/cluster.ts';
import type { Json } from '../../../simulator/kubernetes/objects.ts';
import { type KubernetesOptions, type KubernetesSimulator, startKubernetes } from '../../../simulator/kubernetes/server.ts';
import { OPERATOR_IDENTITY } from '../../support/kube-connection.ts';
import { known } from '../../support/log-keys.ts';
import { PATIENCE_MS } from '../../support/wait-for.ts';

export const CRD = 'crds/floatingippools.yaml';
export const RECORD_SETS = 'crds/nodednsrecordsets.yaml';

/** What was logged, one text a line. */
export interface RecordedLog extends Log {
  readonly lines: string[];
}

export const recordedLog = (): RecordedLog => {
  const lines: string[] = [];
  const take =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push(`${level} ${message} ${JSON.stringify(known(fields))}`);
    };
  return { lines, debug: take('debug'), info: take('info'), warn: take('warn'), error: take('error') };
};

/** Short enough that a test need not wait for what takes seconds in production. */
export const QUICK: ReflectorTimings = {
  ...TIMINGS,
  backoff: { firstMs: 20, factor: 2, maxMs: 100 },
  absentMs: 50,
};

/** A simulated API server that ends with the test, with FloatingIPPools installed unless told otherwise. */
export const simulated = async (options: KubernetesOptions = {}): Promise<KubernetesSimulator> => {
  const simulator = await startKubernetes({ crds: [CRD], ...options });
  onTestFinished(() => simulator.close());
  return simulator;
};

/** A connection to the server that `kubeconfig` (its text) names. */
export const connected = (kubeconfig: string, deadlineMs = PATIENCE_MS, headersMs = 10_000): Connection => {
  const folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
  const path = join(folder, 'config');
  writeFileSync(path, kubeconfig);
  const connection = connect(loadConfig(path), OPERATOR_IDENTITY, { deadlineMs, headersMs });
  onTestFinished(async () => {
    await connection.close();
    rmSync(folder, { recursive: true });
  });
  return connection;
};

/** Keeps all that a source tells. */
export class Recorder implements ClusterListener {
  readonly told: string[] = [];
  readonly facts = new Map<string, ClusterFact>();
  readonly pools = new Map<string, PoolObject>();
  readonly policies = new Map<string, PoolObject>();
  /** What hindered objects, as it was told, oldest first. */
  readonly hindrances: (readonly [name: string, why: string | null])[] = [];

  hindered({ name }: ObjectRef, why: string | null): void {
    this.hindrances.push([name, why]);
  }

  poolObserved(pool: PoolObject): void {
    this.told.push(`observed ${pool.ref.name} ${pool.ref.uid}`);
    this.pools.set(pool.ref.name, pool);
  }

  poolGone(ref: ObjectRef): void {
    this.told.push(`gone ${ref.name} ${ref.uid}`);
    this.pools.delete(ref.name);
  }

  policyObserved(policy: PoolObject): void {
    this.told.push(`policy ${policy.ref.kind} ${policy.ref.name}`);
    this.policies.set(policy.ref.name, policy);
  }

  policyGone(ref: ObjectRef): void {
    this.told.push(`policy gone ${ref.kind} ${ref.name}`);
    this.policies.delete(ref.name);
  }

  machinesObserved(_machines: ReadonlyMap<string, string>): void {}

  evacuationsObserved(_nodes: readonly EvacuatedNode[]): void {}

  clusterObserved(pool: ObjectRef, fact: ClusterFact): void {
    this.told.push(`fact ${pool.name}`);
    this.facts.set(pool.name, fact);
  }

  /** `name` for a ready node, `!name` for another one; null before the first fact. */
  nodes(pool = 'pool'): readonly string[] | null {
    return this.facts.get(pool)?.nodes.map(({ name, ready }) => `${ready ? '' : '!'}${name}`) ?? null;
  }

  /** The nodes on which its pods serve; null when it asks for none. */
  serving(pool = 'pool'): readonly string[] | null {
    return this.facts.get(pool)?.serving ?? null;
  }

  count(prefix: string): number {
    return this.told.filter((line) => line.startsWith(prefix)).length;
  }
}

/** A source on `connection`, not yet started, that ends with the test. */
export const sourceOn = (connection: Connection, options: Partial<SourceOptions> = {}): KubernetesSource => {
  const source = new KubernetesSource({
    controllers: ['flipop', 'routedip'],
    connection,
    clock: systemClock(),
    random: () => 0.5,
    log: recordedLog(),
    timings: QUICK,
    queryOf,
    ...options,
  });
  onTestFinished(() => source.close());
  return source;
};

export const poolObject = (name: string, spec: { readonly [key: string]: Json }, namespace = 'default'): Json => ({
  apiVersion: API_VERSION,
  kind: KIND,
  metadata: { name, namespace },
  spec: { provider: 'digitalocean', region: 'nyc3', ips: ['203.0.113.7'], ...spec },
});

export const recordSetObject = (name: string, spec: { readonly [key: string]: Json } = {}): Json => ({
  apiVersion: nodeDNSRecordSets.API_VERSION,
  kind: nodeDNSRecordSets.KIND,
  metadata: { name, namespace: 'default' },
  spec: { dnsRecordSet: { zone: 'example.com', recordName: name }, ...spec },
});

interface Ref {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export const poolRef = (name: string, namespace = 'default'): Ref => ({ apiVersion: API_VERSION, kind: KIND, name, namespace });

export const recordSetRef = (name: string): Ref => ({ ...poolRef(name), kind: nodeDNSRecordSets.KIND });

export const nodeRef = (name: string): { apiVersion: string; kind: string; name: string } => ({ apiVersion: 'v1', kind: 'Node', name });

export const podRef = (name: string, namespace = 'default'): Ref => ({ apiVersion: 'v1', kind: 'Pod', name, namespace });

export const addNode = (simulator: KubernetesSimulator, name: string, spec: Partial<NodeSpec> = {}): void => {
  simulator.store.create(nodeObject({ name, dropletID: 1, region: 'nyc3', ...spec }) as Json);
};

/** Open watches of a kind. */
export const watchesOf = (simulator: KubernetesSimulator, plural: string): number =>
  simulator.requests.filter(({ path, query, code }) => path.endsWith(`/${plural}`) && query.includes('watch=true') && code === undefined)
    .length;

/** Sets the Ready condition of a node. */
export const setReady = (simulator: KubernetesSimulator, name: string, ready: boolean): void => {
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', reason: 'Test', message: '' }];
  simulator.store.patch(nodeRef(name), { status: { conditions } }, { subresource: 'status' });
};

/** A pod on a node, with the status that a kubelet gives it. */
export const addPod = (simulator: KubernetesSimulator, spec: PodSpec): void => {
  simulator.store.create(podObject(spec) as Json);
  const conditions = [{ type: 'Ready', status: (spec.ready ?? true) ? 'True' : 'False' }];
  simulator.store.patch(
    podRef(spec.name, spec.namespace),
    { status: { phase: spec.phase ?? 'Running', conditions } },
    { subresource: 'status' },
  );
};

export const deletePod = (simulator: KubernetesSimulator, name: string, namespace = 'default'): void => {
  simulator.store.delete(podRef(name, namespace), { gracePeriodSeconds: 0 });
};
