import { randomInt } from 'node:crypto';
import { isIP } from 'node:net';
import { ApiError } from '../errors.ts';
import { at, type Cause, equal, isObject, type Json, type JsonObject, type KubeObject, member } from '../objects.ts';
import type { Store } from '../store.ts';

/** The minor version of Kubernetes 1 from which servers do so. */
const SINCE = {
  families: 21,
  /** Fields of a Service that were there but off before. */
  loadBalancerClass: 22,
  internalTrafficPolicy: 22,
  allocateLoadBalancerNodePorts: 22,
  /** A Service that is not of type LoadBalancer loses its addresses with every change. 1.20 keeps them. */
  wiping: 23,
  /** And may be given none. */
  refusing: 29,
  /** Of type LoadBalancer, with several protocols. */
  mixedProtocols: 24,
  ipMode: 30,
} as const;

/** Of `v1.36.3` 36; newer than everything for what is no such text. */
export const minorOf = (version: string): number => Number(/^v?1\.(\d+)/.exec(version)?.[1] ?? Number.POSITIVE_INFINITY);

const LOAD_BALANCER = 'LoadBalancer';

const specOf = (service: KubeObject | undefined): JsonObject => (isObject(service?.spec) ? service.spec : {});

const drop = (spec: JsonObject, keys: readonly string[]): void => {
  for (const key of keys) delete spec[key];
};

const withDefaults = (target: JsonObject, defaults: JsonObject): void => {
  for (const [key, value] of Object.entries(defaults)) target[key] ??= value;
};

const listOf = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const freeClusterIP = (store: Store): string => {
  const taken = new Set(store.list('services').entries.map(({ object }) => at(object, 'spec', 'clusterIP')));
  for (;;) {
    const address = `10.96.${randomInt(256)}.${randomInt(1, 255)}`;
    if (!taken.has(address)) return address;
  }
};

const NODE_PORTS = { first: 30_000, last: 32_767 } as const;

/** Each port gets one on the nodes that no other Service has; one number with several protocols gets the same. */
const giveNodePorts = (spec: JsonObject, store: Store): void => {
  const ports = listOf(spec.ports);
  if (ports.every(({ nodePort }) => nodePort)) return;
  const others = store.list('services').entries.flatMap(({ object }) => listOf(at(object, 'spec', 'ports')));
  const taken = new Set([...others, ...ports].map(({ nodePort }) => nodePort));
  for (const port of ports) {
    port.nodePort ??= ports.find((other) => other.port === port.port && other.protocol !== port.protocol && other.nodePort)?.nodePort;
    port.nodePort ||= freeNodePort(taken);
    taken.add(port.nodePort);
  }
};

/** A random one, or the next that is free. */
const freeNodePort = (taken: ReadonlySet<Json | undefined>): number => {
  const { first, last } = NODE_PORTS;
  const size = last + 1 - first;
  const start = randomInt(size);
  for (let step = 0; step < size; step += 1) {
    const nodePort = first + ((start + step) % size);
    if (!taken.has(nodePort)) return nodePort;
  }
  throw new ApiError(500, 'InternalError', 'Internal error occurred: failed to allocate a nodePort: range is full', {});
};

/** Fields that a server of this version does not keep. */
const dropUnknown = (spec: JsonObject, minor: number): void => {
  if (minor < SINCE.families) drop(spec, ['ipFamilies', 'ipFamilyPolicy']);
  for (const key of ['loadBalancerClass', 'internalTrafficPolicy', 'allocateLoadBalancerNodePorts'] as const) {
    if (minor < SINCE[key]) delete spec[key];
  }
};

/** Fills in what the API server itself adds to a Service. */
export const completeService = (spec: JsonObject, store: Store, minor: number): void => {
  dropUnknown(spec, minor);
  withDefaults(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  for (const port of listOf(spec.ports)) {
    withDefaults(port, { protocol: 'TCP', ...(port.port === undefined ? {} : { targetPort: port.port }) });
  }
  if (spec.type === 'ExternalName') return;
  spec.clusterIP ??= freeClusterIP(store);
  withDefaults(spec, { clusterIPs: [spec.clusterIP] });
  if (minor >= SINCE.families) withDefaults(spec, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
  if (minor >= SINCE.internalTrafficPolicy) withDefaults(spec, { internalTrafficPolicy: 'Cluster' });
  if (spec.type === LOAD_BALANCER && minor >= SINCE.allocateLoadBalancerNodePorts) {
    withDefaults(spec, { allocateLoadBalancerNodePorts: true });
  }
  if (spec.type === 'ClusterIP') return;
  withDefaults(spec, { externalTrafficPolicy: 'Cluster' });
  if (spec.type === 'NodePort' || spec.allocateLoadBalancerNodePorts !== false) giveNodePorts(spec, store);
};

/** What a type does not have goes with the change to it, unless it was changed too. */
const dropTypeDependent = (spec: JsonObject, old: JsonObject): void => {
  const dropUnchanged = (keys: readonly string[]): void =>
    drop(
      spec,
      keys.filter((key) => equal(spec[key], old[key])),
    );
  if (spec.type !== LOAD_BALANCER) dropUnchanged(['loadBalancerClass', 'allocateLoadBalancerNodePorts', 'healthCheckNodePort']);
  if (spec.type === LOAD_BALANCER || spec.type === 'NodePort') return;
  dropUnchanged(['externalTrafficPolicy']);
  if (equal(spec.ports, old.ports)) for (const port of listOf(spec.ports)) delete port.nodePort;
  if (spec.type === 'ExternalName') dropUnchanged(['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']);
};

/** Whoever does not say it leaves a port the one that it has on the nodes: found by the name of the port. */
const keepNodePorts = (spec: JsonObject, old: JsonObject): void => {
  if (spec.type === 'ClusterIP' || spec.type === 'ExternalName') return;
  const wanted = new Set(listOf(spec.ports).map(({ nodePort }) => nodePort));
  for (const port of listOf(spec.ports).filter(({ nodePort }) => nodePort === undefined)) {
    const { nodePort } = listOf(old.ports).find(({ name }) => name === port.name) ?? {};
    if (nodePort === undefined || wanted.has(nodePort)) continue;
    port.nodePort = nodePort;
    wanted.add(nodePort);
  }
};

/** Settles a Service that is changed through its main path. */
const settleMain = (object: KubeObject, old: KubeObject, store: Store, minor: number): void => {
  const spec = member(object, 'spec');
  const before = specOf(old);
  if (spec.type !== 'ExternalName') {
    const kept = ['clusterIP', 'clusterIPs'].filter((key) => before[key] !== undefined);
    withDefaults(spec, Object.fromEntries(kept.map((key) => [key, before[key] as Json])));
  }
  spec.type ??= 'ClusterIP';
  if (spec.type !== before.type) dropTypeDependent(spec, before);
  keepNodePorts(spec, before);
  completeService(spec, store, minor);
  if (spec.type !== LOAD_BALANCER && minor >= SINCE.wiping)
    object.status = { ...(isObject(object.status) ? object.status : {}), loadBalancer: {} };
};

const ingressOf = (object: KubeObject): JsonObject[] => listOf(at(object, 'status', 'loadBalancer', 'ingress'));

const settleStatus = (object: KubeObject, minor: number): void => {
  for (const entry of ingressOf(object)) {
    if (minor < SINCE.ipMode) delete entry.ipMode;
    else if (entry.ip && specOf(object).type === LOAD_BALANCER) withDefaults(entry, { ipMode: 'VIP' });
  }
};

/** Settles a Service that is changed; its own fields and the others' have been told apart. */
export const settleService = (
  object: KubeObject,
  old: KubeObject,
  { subresource, store, minor }: { readonly subresource: string | undefined; readonly store: Store; readonly minor: number },
): void => {
  if (subresource === 'status') settleStatus(object, minor);
  else settleMain(object, old, store, minor);
};

const forbidden = (field: string, why: string): Cause => ({ reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field });
const invalidAt = (field: string, value: Json | undefined, why: string): Cause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}`,
  field,
});

const portCauses = (spec: JsonObject, minor: number): Cause[] => {
  const protocols = new Set(listOf(spec.ports).map(({ protocol }) => protocol));
  if (protocols.size < 2 || minor >= SINCE.mixedProtocols) return [];
  return [invalidAt('spec.ports', spec.ports, "may not contain more than 1 protocol when type is 'LoadBalancer'")];
};

const specCauses = (spec: JsonObject, old: JsonObject | undefined, minor: number): Cause[] => {
  const { type, loadBalancerClass, externalTrafficPolicy } = spec;
  const causes: Cause[] = type === LOAD_BALANCER ? portCauses(spec, minor) : [];
  if (old?.type === LOAD_BALANCER && type === LOAD_BALANCER && loadBalancerClass !== old.loadBalancerClass) {
    causes.push(invalidAt('spec.loadBalancerClass', loadBalancerClass, 'may not change once set'));
  }
  if (type !== LOAD_BALANCER && loadBalancerClass !== undefined) {
    causes.push(forbidden('spec.loadBalancerClass', "may only be used when `type` is 'LoadBalancer'"));
  }
  if (type === 'ClusterIP' && externalTrafficPolicy !== undefined) {
    const why = 'may only be set for externally-accessible services';
    causes.push(invalidAt('spec.externalTrafficPolicy', externalTrafficPolicy, why));
  }
  return causes;
};

const statusCauses = (object: KubeObject, minor: number): Cause[] => {
  const field = 'status.loadBalancer.ingress';
  const ingress = ingressOf(object);
  if (ingress.length > 0 && minor >= SINCE.refusing && specOf(object).type !== LOAD_BALANCER) {
    return [forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap(({ ip, hostname, ipMode }, index): Cause[] => [
    ...(ip && isIP(String(ip)) === 0
      ? [invalidAt(`${field}[${index}].ip`, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')]
      : []),
    ...(hostname && isIP(String(hostname)) !== 0
      ? [invalidAt(`${field}[${index}].hostname`, hostname, 'must be a DNS name, not an IP address')]
      : []),
    ...(ipMode && !ip ? [forbidden(`${field}[${index}].ipMode`, 'may not be specified when `ip` is not set')] : []),
  ]);
};

/** The rules of Services that operators run into. */
export const serviceCauses = (
  object: KubeObject,
  old: KubeObject | undefined,
  { subresource, minor = Number.POSITIVE_INFINITY }: { subresource?: string | undefined; minor?: number },
): Cause[] => (subresource === 'status' ? statusCauses(object, minor) : specCauses(specOf(object), old && specOf(old), minor));
