import { fieldsOf } from '../../../machines/model/types.ts';
import type { Intern } from './intern.ts';
import { keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** One endpoint of a slice. */
export interface SeenEndpoint {
  readonly node: string;
  /** The name of the Pod; empty for an endpoint that is not a Pod. */
  readonly pod: string;
  readonly ready: boolean;
}

/** A subset of the endpoints of a Service; its slices together contain all of them. */
export interface SeenSlice {
  readonly service: string;
  /** Only endpoints whose node is known. An endpoint may be in several slices. */
  readonly endpoints: readonly SeenEndpoint[];
}

/** Names the Service that a slice belongs to. */
const SERVICE_LABEL = 'kubernetes.io/service-name';

/** The topology key of the node in v1beta1; servers before 1.20 have nothing else, and objects they stored still have it when read as v1. */
const HOSTNAME = 'kubernetes.io/hostname';

const podOf = (endpoint: Readonly<Record<string, unknown>>): string => {
  const { kind, name } = fieldsOf(endpoint.targetRef);
  return kind === 'Pod' ? text(name) : '';
};

const endpointOf = (value: unknown, ready: (endpoint: Readonly<Record<string, unknown>>) => boolean, shared: Intern): SeenEndpoint => {
  const endpoint = fieldsOf(value);
  const topology = fieldsOf(endpoint.topology ?? endpoint.deprecatedTopology);
  const node = text(endpoint.nodeName) || text(topology[HOSTNAME]);
  return { node: shared.text(node), pod: shared.text(podOf(endpoint)), ready: ready(endpoint) };
};

const isPlaced = ({ node }: SeenEndpoint): boolean => node !== '';

/** An absent condition is unknown, which by API convention counts as ready. `publishNotReadyAddresses` keeps a terminating endpoint ready, but it is
 *  about to disappear. */
const readyInSlice = (endpoint: Readonly<Record<string, unknown>>): boolean => {
  const { ready, terminating } = fieldsOf(endpoint.conditions);
  return ready !== false && terminating !== true;
};

/** An EndpointSlice, v1 or v1beta1. Null for one that belongs to no Service. */
export const trimSlice = (object: unknown, shared: Intern): Trimmed<SeenSlice> | null => {
  const meta = metaOf(object);
  const service = text(meta?.labels[SERVICE_LABEL]);
  if (meta === null || service === '') return null;
  const endpoints = list(fieldsOf(object).endpoints).map((endpoint) => endpointOf(endpoint, readyInSlice, shared));
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value: { service, endpoints: endpoints.filter(isPlaced) } };
};

/** Endpoints, which have the name of their Service, as one slice. */
export const trimEndpoints = (object: unknown, shared: Intern): Trimmed<SeenSlice> | null => {
  const meta = metaOf(object);
  if (meta === null) return null;
  const endpoints = list(fieldsOf(object).subsets).flatMap((value) => {
    const { addresses, notReadyAddresses } = fieldsOf(value);
    return [
      ...list(addresses).map((address) => endpointOf(address, () => true, shared)),
      ...list(notReadyAddresses).map((address) => endpointOf(address, () => false, shared)),
    ];
  });
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value: { service: meta.name, endpoints: endpoints.filter(isPlaced) } };
};
