import { fieldsOf } from '../../../machines/model/types.ts';
import type { Intern } from './intern.ts';
import { keyOf, list, metaOf, type Trimmed, text } from './trim.ts';

/** One endpoint as a slice tells it. */
export interface SeenEndpoint {
  readonly node: string;
  /** The name of the Pod; empty for an endpoint that is none. */
  readonly pod: string;
  readonly ready: boolean;
}

/** Some of the endpoints of a Service; all of them together are in all its slices. */
export interface SeenSlice {
  readonly service: string;
  /** Those whose node is known. One may be in several slices. */
  readonly endpoints: readonly SeenEndpoint[];
}

/** Names the Service that a slice belongs to. */
const SERVICE_LABEL = 'kubernetes.io/service-name';

/** How v1beta1 names the node; servers before 1.20 have nothing else, and what they stored is still so when it is read as v1. */
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

/** A condition that is not given is unknown, which API conventions have taken for ready. One that terminates is kept ready by
 *  `publishNotReadyAddresses`, but is about to go. */
const readyInSlice = (endpoint: Readonly<Record<string, unknown>>): boolean => {
  const { ready, terminating } = fieldsOf(endpoint.conditions);
  return ready !== false && terminating !== true;
};

/** An EndpointSlice, of v1 or of v1beta1. Null for one that belongs to no Service. */
export const trimSlice = (object: unknown, shared: Intern): Trimmed<SeenSlice> | null => {
  const meta = metaOf(object);
  const service = text(meta?.labels[SERVICE_LABEL]);
  if (meta === null || service === '') return null;
  const endpoints = list(fieldsOf(object).endpoints).map((endpoint) => endpointOf(endpoint, readyInSlice, shared));
  return { key: keyOf(meta.namespace, meta.name), uid: meta.uid, value: { service, endpoints: endpoints.filter(isPlaced) } };
};

/** Endpoints, which bear the name of their Service, as one slice. */
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
