import type { KubernetesSource, SourceOptions } from '../../../../adapters/kubernetes/source/source.ts';
import * as classes from '../../../../crds/generated/clusterroutedipclass.ts';
import * as routedIPs from '../../../../crds/generated/routedip.ts';
import * as issuers from '../../../../crds/generated/routedipissuer.ts';
import type { ObservedService } from '../../../../machines/model/types.ts';
import type { Json, JsonObject } from '../../../../simulator/kubernetes/objects.ts';
import type { KubernetesOptions, KubernetesSimulator } from '../../../../simulator/kubernetes/server.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { addNode, CRD, connected, podRef, Recorder, recordedLog, simulated, sourceOn, watchesOf } from '../support.ts';

export const ROUTED_IPS = 'crds/routedips.yaml';
export const ISSUERS = 'crds/routedipissuers.yaml';
export const CLASSES = 'crds/clusterroutedipclasses.yaml';
export const OWN_KINDS: readonly string[] = [ROUTED_IPS, ISSUERS, CLASSES];

export const routedIPObject = (name: string, service = 'web', spec: JsonObject = {}): JsonObject => ({
  apiVersion: routedIPs.API_VERSION,
  kind: routedIPs.KIND,
  metadata: { name, namespace: 'default' },
  spec: { issuerRef: { name: 'cloud' }, serviceRef: { serviceName: service }, ...spec },
});

export const issuerObject = (name: string): JsonObject => ({
  apiVersion: issuers.API_VERSION,
  kind: issuers.KIND,
  metadata: { name, namespace: 'default' },
  spec: { issuerClass: 'digitalocean' },
});

export const classObject = (name: string): JsonObject => ({
  apiVersion: classes.API_VERSION,
  kind: classes.KIND,
  metadata: { name },
  spec: { className: `example.com/${name}` },
});

export const refOf = ({ apiVersion, kind, metadata }: JsonObject) => {
  const { name, namespace } = metadata as { readonly name: string; readonly namespace?: string };
  return { apiVersion: String(apiVersion), kind: String(kind), name, ...(namespace === undefined ? {} : { namespace }) };
};

export const serviceObject = (name: string, spec: JsonObject = {}, namespace = 'default'): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace },
  spec: { type: 'NodePort', selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'http', nodePort: 30080 }], ...spec },
});

/** A Pod that backs the Service of its `app`, with what its only container opens. */
export const addBackend = (simulator: KubernetesSimulator, name: string, node: string, spec: JsonObject = {}, app = 'web'): void => {
  const container = { name: 'main', image: 'registry.example/app:1.0', ports: [{ name: 'http', containerPort: 8080 }] };
  simulator.store.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app } },
    spec: { nodeName: node, containers: [container], ...spec },
  });
};

export const removeBackend = (simulator: KubernetesSimulator, name: string): void => {
  simulator.store.delete(podRef(name), { gracePeriodSeconds: 0 });
};

/** `pod@node`; `!pod@node` for one that is not ready. */
const parsed = (text: string): { readonly pod: string; readonly node: string; readonly ready: boolean } => {
  const [pod = '', node = ''] = text.replace('!', '').split('@');
  return { pod, node, ready: !text.startsWith('!') };
};

const targetOf = (pod: string): JsonObject => ({ kind: 'Pod', namespace: 'default', name: pod });

/** An EndpointSlice of v1, or of v1beta1 with the node in its topology alone, as Kubernetes 1.20 writes it. */
export const sliceObject = (name: string, service: string, endpoints: readonly string[], version = 'v1'): JsonObject => ({
  apiVersion: `discovery.k8s.io/${version}`,
  kind: 'EndpointSlice',
  metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints: endpoints.map(parsed).map(({ pod, node, ready }, index) => ({
    addresses: [`10.1.0.${index + 1}`],
    conditions: { ready },
    targetRef: targetOf(pod),
    ...(version === 'v1' ? { nodeName: node } : { topology: { 'kubernetes.io/hostname': node } }),
  })),
});

export const endpointsObject = (service: string, endpoints: readonly string[]): JsonObject => {
  const addresses = (ready: boolean): Json[] =>
    endpoints
      .map(parsed)
      .filter((one) => one.ready === ready)
      .map(({ pod, node }, index) => ({ ip: `10.1.${ready ? 0 : 1}.${index + 1}`, nodeName: node, targetRef: targetOf(pod) }));
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: service, namespace: 'default' },
    subsets: [{ addresses: addresses(true), notReadyAddresses: addresses(false), ports: [{ name: 'http', port: 8080 }] }],
  };
};

/** What a listener learnt of Services. */
export class ServiceRecorder extends Recorder {
  service(name = 'rip'): ObservedService | null | undefined {
    return this.facts.get(name)?.service;
  }

  /** `pod@node`, `!pod@node` when it is not ready, `?@node` when its Pod is not seen; undefined before the first fact. */
  endpoints(name = 'rip'): string | undefined {
    return this.service(name)
      ?.endpoints.map(({ node, ready, pod }) => `${ready ? '' : '!'}${pod?.name ?? '?'}@${node}`)
      .join();
  }
}

interface Started {
  readonly options?: KubernetesOptions;
  readonly source?: Partial<SourceOptions>;
}

/** A cluster with the nodes a, b and c and whatever `prepare` adds, and a source on it that has not begun. */
export const prepared = async (prepare: (simulator: KubernetesSimulator) => void, { options = {}, source: more = {} }: Started = {}) => {
  const simulator = await simulated({ crds: [CRD, ...OWN_KINDS], ...options });
  for (const name of ['a', 'b', 'c']) addNode(simulator, name);
  prepare(simulator);
  const log = recordedLog();
  const connection = connected(simulator.kubeconfig());
  const source: KubernetesSource = sourceOn(connection, { log, ...more });
  const seen = new ServiceRecorder();
  const watching = (plural: string, count = 1): Promise<void> =>
    waitFor(`${count} watches of ${plural}`, () => watchesOf(simulator, plural) === count);
  return { simulator, log, connection, source, seen, watching };
};

/** The same, begun. */
export const following = async (prepare: (simulator: KubernetesSimulator) => void, started: Started = {}) => {
  const world = await prepared(prepare, started);
  await world.source.start(world.seen);
  return world;
};
