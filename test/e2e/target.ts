import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import type { FloatingIPPoolSpec, FloatingIPPoolStatus } from '../../crds/generated/floatingippool.ts';
import { connectionOf, type KubeClient, kubeClient } from '../../simulator/kubernetes/client.ts';
import { createNamespace } from '../../simulator/kubernetes/cluster.ts';
import { type KubernetesSimulator, startKubernetes } from '../../simulator/kubernetes/server.ts';
import { OBSERVER, OPERATOR } from '../support/audits.ts';
import { type Cluster, startCluster } from '../support/kube.ts';
import { apply, installCrds, installRoles, objectsIn } from '../support/kube-apply.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const CRDS = readdirSync(join(REPOSITORY, 'crds'))
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => join(REPOSITORY, 'crds', name));
const DEPLOY = ['namespace.yaml', 'rbac.yaml'].map((name) => join(REPOSITORY, 'deploy', name));

/** A Kubernetes API that scenarios run against: the simulator, or a real API server when TEST_TARGET is `cluster` or `cluster-old`. */
export interface Target {
  readonly kind: 'simulator' | 'cluster';
  /** The operator's own kubeconfig: on a real server that of its ServiceAccount, under the roles that are shipped. */
  readonly operatorKubeconfig: string;
  /** Of an operator that only observes, in the namespace of deploy/observer.yaml: on a real server under the roles of that. */
  observerKubeconfig(): Promise<string>;
  /** The administrator's. */
  readonly adminKubeconfig: string;
  readonly client: KubeClient;
  readonly simulator: KubernetesSimulator | null;
  readonly cluster: Cluster | null;
  /** The API server stops answering, and answers again. */
  outage(): Promise<void>;
  endOutage(): Promise<void>;
  /** When the operator's writes to the Node itself came that were answered with 200, ms since the epoch, oldest first. On a real server it needs `audit`. */
  nodeWrites(node: string): readonly number[];
  /** What the operator has asked to change, `PATCH /api/v1/nodes/a`, oldest first; questions that are asked by POST are not among it. On a real server it needs `audit`. */
  operatorWrites(): readonly string[];
  /** What was refused to one that only observes, on a real server, which needs `audit`. */
  observerRefusals(): readonly string[];
  /** Paths that anybody has asked for, with their queries. On a real server it needs `audit`. */
  asked(): readonly string[];
  close(): Promise<void>;
}

export interface TargetOptions {
  /** A real API server records every request. */
  readonly audit?: boolean;
}

export interface Pool {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly generation: number };
  readonly spec: FloatingIPPoolSpec;
  readonly status?: FloatingIPPoolStatus;
}

const isChange = (write: string): boolean => !/ \/apis\/(authentication|authorization)\.k8s\.io\//.test(write);

export const openTarget = (options: TargetOptions = {}): Promise<Target> =>
  process.env.TEST_TARGET?.startsWith('cluster') ? openCluster(options) : openSimulator();

async function openSimulator(): Promise<Target> {
  const simulator = await startKubernetes({ crds: CRDS });
  const folder = mkdtempSync(join(tmpdir(), 'routedip-e2e-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, simulator.kubeconfig(), { mode: 0o600 });
  const client = kubeClient(connectionOf(simulator.kubeconfig()));
  for (const file of DEPLOY)
    for (const object of parseAllDocuments(readFileSync(file, 'utf8'))) await client.create(object.toJS()).catch(() => undefined);
  return {
    kind: 'simulator',
    operatorKubeconfig: kubeconfig,
    observerKubeconfig: async () => {
      await createNamespace(client, 'routedip-observer').catch(() => undefined);
      const path = join(folder, 'observer');
      const [context] = parse(simulator.kubeconfig()).contexts;
      const contexts = [{ ...context, context: { ...context.context, namespace: 'routedip-observer' } }];
      writeFileSync(path, stringify({ ...parse(simulator.kubeconfig()), contexts }), { mode: 0o600 });
      return path;
    },
    observerRefusals: () => [],
    adminKubeconfig: kubeconfig,
    client,
    simulator,
    cluster: null,
    outage: async () => simulator.faults.outage('reset'),
    endOutage: async () => simulator.faults.endOutage(),
    nodeWrites: (node) =>
      simulator.requests
        .filter(({ method, path, code }) => method === 'PATCH' && path === `/api/v1/nodes/${node}` && code === 200)
        .map(({ at }) => at),
    operatorWrites: () =>
      simulator.requests
        .filter(({ method, userAgent }) => method !== 'GET' && userAgent.startsWith('routedip-operator/'))
        .map(({ method, path }) => `${method} ${path}`)
        .filter(isChange),
    asked: () => simulator.requests.map(({ path, query }) => `${path}?${query}`),
    close: async () => {
      client.close();
      await simulator.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openCluster({ audit = false }: TargetOptions): Promise<Target> {
  const cluster = await startCluster(audit ? { audit } : {});
  await installCrds(cluster);
  await installRoles(cluster);
  const token = await cluster.tokenFor('routedip-operator', 'routedip-operator');
  const client = kubeClient(connectionOf(readFileSync(cluster.kubeconfig, 'utf8')));
  return {
    kind: 'cluster',
    operatorKubeconfig: cluster.kubeconfigFor(token),
    observerKubeconfig: async () => {
      for (const object of objectsIn(join(REPOSITORY, 'deploy/observer.yaml')).filter(({ kind }) => kind !== 'Deployment')) {
        const { status, body } = await apply(cluster, object);
        if (status >= 300) throw new Error(`${object.kind}: ${body.message}`);
      }
      return cluster.kubeconfigFor(await cluster.tokenFor('routedip-observer', 'routedip-observer'), 'routedip-observer');
    },
    observerRefusals: () =>
      cluster
        .auditLog()
        .filter(({ user, responseStatus }) => user.username === OBSERVER && responseStatus?.code === 403)
        .map(({ verb, requestURI }) => `${verb} ${requestURI}`),
    adminKubeconfig: cluster.kubeconfig,
    client,
    simulator: null,
    cluster,
    outage: () => cluster.killApiServer(),
    endOutage: () => cluster.startApiServer(),
    nodeWrites: (node) =>
      cluster
        .auditLog()
        .filter(
          ({ verb, user, objectRef, responseStatus }) =>
            verb === 'patch' &&
            user.username === OPERATOR &&
            objectRef?.resource === 'nodes' &&
            objectRef.name === node &&
            responseStatus?.code === 200,
        )
        .map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp)),
    operatorWrites: () =>
      cluster
        .auditLog()
        .filter(({ verb, user }) => [OPERATOR, OBSERVER].includes(user.username) && !['get', 'list', 'watch'].includes(verb))
        .map(({ verb, requestURI }) => `${verb.toUpperCase()} ${requestURI.replace(/\?.*/, '')}`)
        .filter(isChange),
    asked: () => cluster.auditLog().map(({ requestURI }) => requestURI),
    close: async () => {
      client.close();
      await cluster.stop();
    },
  };
}
